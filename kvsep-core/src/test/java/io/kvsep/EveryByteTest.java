package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.Sample;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Damage at rest in a store with every kind of file ({@link SweptStore}): each byte with a bit
 * flipped, set to zero and to 0xff, each length that a file may be cut to, each file missing, in
 * the place of another, and of another store. All of it opened for reading only, and for writing
 * with compaction and reclaim at work ({@link DamagedRun}).
 *
 * <p>A short run draws some damages, see {@link Sample}; the exhaustive run tries them all and says
 * how many they were.
 */
final class EveryByteTest {
  /** Cases of a short run. */
  private static final int DAMAGES = 120;

  private static final int PLACES = 40;
  private static final int DRAWS = 3;
  private static final long HANG_NANOS = 120_000_000_000L;

  private final SweptStore sound = SweptStore.make();

  private int runs;
  private int refused;

  /** Grows with every opening; a watcher reads it. */
  private volatile int progress;

  /** Changes one file: every kind of damage that has an offset. */
  private enum Kind {
    BIT {
      @Override
      byte[] applied(byte[] bytes, int offset) {
        byte[] changed = bytes.clone();
        changed[offset] ^= (byte) (1 << (offset * 5 + 3) % 8);
        return changed;
      }
    },
    ZERO {
      @Override
      byte[] applied(byte[] bytes, int offset) {
        byte[] changed = bytes.clone();
        changed[offset] = 0;
        return changed;
      }
    },
    ONES {
      @Override
      byte[] applied(byte[] bytes, int offset) {
        byte[] changed = bytes.clone();
        changed[offset] = (byte) 0xff;
        return changed;
      }
    },
    CUT {
      @Override
      byte[] applied(byte[] bytes, int offset) {
        return Arrays.copyOf(bytes, offset);
      }
    };

    abstract byte[] applied(byte[] bytes, int offset);
  }

  private record Damage(String file, int offset, Kind kind) {}

  private Sample<Damage> damages() {
    List<Damage> damages = new ArrayList<>();
    sound.files.forEach(
        (file, bytes) -> {
          for (int offset = 0; offset < bytes.length; offset++) {
            for (Kind kind : Kind.values()) {
              damages.add(new Damage(file, offset, kind));
            }
          }
        });
    return Sample.of(damages).meeting(damage -> List.of(damage.file(), damage.kind()));
  }

  @Test
  void everyByteAndEveryLength() throws InterruptedException {
    watched(
        () ->
            damages()
                .run(
                    getClass(),
                    "everyByteAndEveryLength",
                    DAMAGES,
                    (damages, seed) -> damages.forEach(this::run)));
    if (Sample.EXHAUSTIVE) {
      System.out.printf(
          "%d bytes in %d files swept: %d openings, %d of them refused%n",
          sound.totalBytes(), sound.files.size(), runs, refused);
    }
    assertTrue(refused > 0 && refused < runs, refused + " of " + runs + " were refused");
  }

  private void run(Damage damage) {
    byte[] bytes = sound.bytes(damage.file());
    byte[] changed = damage.kind().applied(bytes, damage.offset());
    if (!Arrays.equals(bytes, changed)) {
      run(damage.toString(), with(damage.file(), changed), Set.of(damage.file()));
    }
  }

  /** Both ways to open it. */
  private void run(String what, Map<String, byte[]> files, Set<String> damaged) {
    try {
      run(files, damaged, EveryByteTest::nothing);
    } catch (Throwable e) {
      throw new AssertionError(what + ": " + e, e);
    }
  }

  private void run(Map<String, byte[]> files, Set<String> damaged, Consumer<KvStore> after) {
    DamagedRun run = new DamagedRun(sound, files, damaged, after);
    refused += run.readOnly() ? 0 : 1;
    refused += run.readWrite() ? 0 : 1;
    runs += 2;
    progress = runs;
  }

  private static void nothing(KvStore store) {}

  private Map<String, byte[]> with(String file, byte[] bytes) {
    Map<String, byte[]> files = new TreeMap<>(sound.files);
    files.put(file, bytes);
    return files;
  }

  @Test
  void theSoundStoreIsRight() {
    run("undamaged", sound.files, Set.of());
    assertEquals(0, refused);
  }

  @Test
  void filesThatAreMissing() {
    for (String missing : sound.files.keySet()) {
      Map<String, byte[]> files = new TreeMap<>(sound.files);
      files.remove(missing);
      int refusedBefore = refused;
      run(missing + " missing", files, Set.of(missing));
      int expected = missing.equals(StoreFiles.LOCK) ? 0 : 2;
      assertEquals(expected, refused - refusedBefore, missing);
    }
  }

  /** A file has the bytes of another, which may have those of the first. */
  private record Place(String one, String other, boolean swaps) {}

  @Test
  void filesInThePlaceOfOthers() {
    List<Place> places = new ArrayList<>();
    for (String one : sound.files.keySet()) {
      for (String other : sound.files.keySet()) {
        if (one.equals(other) || one.equals(StoreFiles.LOCK) || other.equals(StoreFiles.LOCK)) {
          continue;
        }
        places.add(new Place(one, other, /* swaps= */ false));
        if (one.compareTo(other) < 0) {
          places.add(new Place(one, other, /* swaps= */ true));
        }
      }
    }
    Sample.of(places)
        .meeting(place -> List.of(place.one(), place.swaps()))
        .meeting(Place::other)
        .run(
            getClass(), "filesInThePlaceOfOthers", PLACES, (some, seed) -> some.forEach(this::run));
  }

  private void run(Place place) {
    Map<String, byte[]> files = with(place.one(), sound.bytes(place.other()));
    if (place.swaps()) {
      files.put(place.other(), sound.bytes(place.one()));
    }
    Set<String> damaged = place.swaps() ? Set.of(place.one(), place.other()) : Set.of(place.one());
    run(place.toString(), files, damaged);
  }

  @Test
  void filesOfAnotherStore() {
    SweptStore other = SweptStore.ofAnotherId();
    List<Place> places = new ArrayList<>();
    for (String one : sound.files.keySet()) {
      for (String file : other.files.keySet()) {
        if (StoreFiles.kindOf(one) == StoreFiles.kindOf(file) && !one.equals(StoreFiles.LOCK)) {
          places.add(new Place(one, file, /* swaps= */ false));
        }
      }
    }
    Sample.of(places)
        .meeting(Place::one)
        .run(
            getClass(),
            "filesOfAnotherStore",
            PLACES / 2,
            (some, seed) ->
                some.forEach(
                    place ->
                        run(
                            place + " of another store",
                            with(place.one(), other.bytes(place.other())),
                            Set.of(place.one()))));
  }

  /** Damage that heals itself into other bytes with right checksums is a wrong answer. */
  @Test
  void canarySoundBytesWithAnotherValueAreNoticed() {
    SweptStore other = SweptStore.withAnotherValue();
    List<String> differing = new ArrayList<>();
    sound.files.forEach(
        (name, bytes) -> {
          if (!Arrays.equals(bytes, other.files.get(name))) {
            differing.add(name);
          }
        });
    assertEquals(1, differing.size(), () -> "the value lies in one segment: " + differing);
    String segment = differing.get(0);
    Map<String, byte[]> files = with(segment, other.bytes(segment));
    AssertionError error =
        assertThrows(
            AssertionError.class, () -> run(files, Set.of(segment), EveryByteTest::nothing));
    assertTrue(String.valueOf(error.getMessage()).contains("value of"), error::toString);
  }

  @Test
  void canaryMaintenanceThatLosesAnEntryIsNoticed() {
    byte[] key = sound.contents(SweptStore.DEFAULT).firstKey();
    AssertionError error =
        assertThrows(
            AssertionError.class, () -> run(sound.files, Set.of(), store -> store.delete(key)));
    assertTrue(String.valueOf(error.getMessage()).contains("value of"), error::toString);
  }

  /** Each draw of a short run notices what each sound store would show, and a wrong name. */
  @Test
  void canaryEachDrawNotices() {
    byte[] key = sound.contents(SweptStore.DEFAULT).firstKey();
    for (long seed = 1; seed <= DRAWS; seed++) {
      List<Damage> drawn = damages().drawn(DAMAGES, seed);
      assertNoticed(drawn, "value of", store -> store.delete(key), /* blames= */ null);
      assertNoticed(drawn, "instead of", EveryByteTest::nothing, /* blames= */ "000099.sst");
    }
  }

  private void assertNoticed(
      List<Damage> damages, String message, Consumer<KvStore> after, @Nullable String blames) {
    for (Damage damage : damages) {
      byte[] changed = damage.kind().applied(sound.bytes(damage.file()), damage.offset());
      Set<String> damaged = Set.of(blames == null ? damage.file() : blames);
      try {
        run(with(damage.file(), changed), damaged, after);
      } catch (AssertionError e) {
        assertTrue(String.valueOf(e.getMessage()).contains(message), e::toString);
        return;
      }
    }
    fail("nothing with " + message);
  }

  @Test
  void canaryAnErrorThatNamesAnotherFileIsNoticed() {
    String table = sound.files.keySet().stream().filter(f -> f.endsWith(".sst")).findFirst().get();
    byte[] cut = Kind.CUT.applied(sound.bytes(table), 100);
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () -> run(with(table, cut), Set.of("000099.sst"), EveryByteTest::nothing));
    assertTrue(String.valueOf(error.getMessage()).contains("instead of"), error::toString);
  }

  @Test
  void canaryAHangIsNoticed() {
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () -> watched(() -> LockSupport.parkNanos(HANG_NANOS), /* nanos= */ 20_000_000));
    assertTrue(String.valueOf(error.getMessage()).contains("hangs"), error::toString);
  }

  @Test
  void theStoresAreTheSameEachTimeAndOfDifferentIds() {
    SweptStore again = SweptStore.make();
    assertEquals(sound.files.keySet(), again.files.keySet());
    sound.files.forEach((name, bytes) -> assertTrue(Arrays.equals(bytes, again.bytes(name)), name));
    assertNotEquals(
        Arrays.toString(sound.bytes(StoreFiles.CURRENT)),
        Arrays.toString(SweptStore.ofAnotherId().bytes(StoreFiles.CURRENT)));
  }

  private void watched(Runnable work) throws InterruptedException {
    watched(work, HANG_NANOS);
  }

  /** Runs on a thread of its own, and fails when that makes no progress for so long. */
  private void watched(Runnable work, long nanos) throws InterruptedException {
    List<Throwable> errors = new ArrayList<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                errors.add(e);
              }
            },
            "sweep");
    thread.setDaemon(true);
    thread.start();
    int before;
    do {
      before = progress;
      thread.join(nanos / 1_000_000);
      if (thread.isAlive() && progress == before) {
        AssertionError hang = new AssertionError("an opening hangs; its thread stands where shown");
        hang.setStackTrace(thread.getStackTrace());
        throw hang;
      }
    } while (thread.isAlive());
    if (!errors.isEmpty()) {
      throw new AssertionError(errors.get(0).getMessage(), errors.get(0));
    }
  }
}
