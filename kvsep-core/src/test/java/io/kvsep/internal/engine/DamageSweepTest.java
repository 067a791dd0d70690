package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Excuse;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Damage at rest, everywhere: every byte of every file of a small store, every length, every file
 * missing, any two swapped. What comes out is the right data or a typed error that names a file;
 * never another exception, and never a wrong, missing or empty value.
 *
 * <p>The one thing that cannot be told from damage is a torn tail: frames at the end of the log
 * that neither the manifest nor any frame behind them calls durable may be cut off, from the first
 * that does not hold. The expectation says exactly which those are.
 *
 * <p>A short run draws some of the damages, see {@link Sample}.
 */
final class DamageSweepTest {
  /** Cases of a short run, of one store. */
  private static final int CASES = 150;

  /** So many bytes are overwritten at once, apart from single ones. */
  private static final int RUN_BYTES = 11;

  /** Each stretch of a file is damaged, also in a short run. */
  private static final int STRETCHES = 8;

  private enum Kind {
    FLIP,
    OVERWRITE,
    CUT,
    GROW
  }

  /** The offset is the new length of a file that is cut or grows; the value fills what changes. */
  private record Damage(String file, Kind kind, int offset, int count, int value) {
    byte[] applied(byte[] bytes) {
      byte[] changed =
          kind == Kind.CUT || kind == Kind.GROW ? Arrays.copyOf(bytes, offset) : bytes.clone();
      switch (kind) {
        case FLIP -> changed[offset] ^= (byte) value;
        case OVERWRITE -> Arrays.fill(changed, offset, offset + count, (byte) value);
        case CUT -> {}
        case GROW -> Arrays.fill(changed, bytes.length, offset, (byte) value);
      }
      return changed;
    }

    List<Integer> allowed(StoreAtRest fixture) {
      byte[] bytes = bytes(fixture, file);
      if (kind == Kind.GROW || Arrays.equals(applied(bytes), bytes)) {
        return List.of(fixture.states.size() - 1);
      }
      return kind == Kind.CUT
          ? allowedWhenCut(fixture, file, offset)
          : allowedWhenDamaged(fixture, file, offset);
    }
  }

  @Test
  void aClosedStoreGivesRightDataOrATypedError() {
    sweep("aClosedStoreGivesRightDataOrATypedError", StoreAtRest.closedStore());
  }

  @Test
  void aStoreWithALogToReplayGivesRightDataOrATypedError() {
    sweep("aStoreWithALogToReplayGivesRightDataOrATypedError", StoreAtRest.uncleanStore());
  }

  /** Everything in it was synced, though no frame says so. */
  @Test
  void aCheckpointWithALogToReplayGivesRightDataOrATypedError() throws IOException {
    sweep("aCheckpointWithALogToReplayGivesRightDataOrATypedError", StoreAtRest.checkpoint());
  }

  @Test
  void whatAFlushHasSyncedBesideItsOwnIsNoTornTail() {
    StoreAtRest fixture = StoreAtRest.storeThatFlushesWhileItIsWritten();
    byte[] tail = bytes(fixture, fixture.tail);
    Failures failures = new Failures();
    for (int i = fixture.replayFrom; i < tail.length; i++) {
      int offset = i;
      CrashableStorage flipped = fixture.storage();
      corrupt(flipped, fixture.tail, offset, 1 << offset % 8);
      CrashableStorage shortened = fixture.storage();
      shortened.replace(fixture.tail, Arrays.copyOf(tail, offset));
      for (CrashableStorage damaged : List.of(flipped, shortened)) {
        failures.check(
            "damaged at " + offset, damaged, () -> expectRefusal(damaged, Set.of(fixture.tail)));
      }
    }
    failures.report();
    assertTrue(failures.runCount() > 100, "only " + failures.runCount() + " damages");
  }

  @Test
  void aStoreWhoseLastEditAddedASegmentNeverForgetsIt() {
    StoreAtRest fixture = StoreAtRest.uncleanStoreInFreshSegment();
    List<Damage> damages = damages(fixture);
    damages.removeIf(
        damage ->
            StoreFiles.kindOf(damage.file()) != StoreFiles.Kind.MANIFEST
                || (damage.kind() != Kind.FLIP && damage.kind() != Kind.CUT));
    sweep("aStoreWhoseLastEditAddedASegmentNeverForgetsIt", fixture, damages);
  }

  @Test
  void missingAndSwappedFilesAreToldOfByName() {
    for (StoreAtRest fixture : List.of(StoreAtRest.closedStore(), StoreAtRest.uncleanStore())) {
      Failures failures = new Failures();
      for (String name : fixture.files.keySet()) {
        CrashableStorage missing = without(fixture, name);
        failures.check(name + " missing", missing, () -> expectRefusal(missing, Set.of(name)));
        for (String other : fixture.files.tailMap(name, false).keySet()) {
          CrashableStorage swapped = fixture.storage();
          swapped.replace(name, bytes(fixture, other));
          swapped.replace(other, bytes(fixture, name));
          List<Integer> allowed = List.of(fixture.states.size() - 1);
          failures.check(
              name + " and " + other + " swapped",
              swapped,
              () -> check(fixture, swapped, Set.of(name, other), allowed));
        }
      }
      failures.report();
    }
  }

  @Test
  void filesOfAnotherStoreAreRefusedOrRight() {
    StoreAtRest fixture = StoreAtRest.closedStore();
    StoreAtRest other = StoreAtRest.storeOfAnotherId();
    List<Integer> newest = List.of(fixture.states.size() - 1);
    Failures failures = new Failures();
    for (String name : fixture.files.keySet()) {
      byte[] foreign = other.files.get(name);
      if (foreign == null) {
        continue;
      }
      CrashableStorage storage = fixture.storage();
      storage.replace(name, foreign);
      // Behind another CURRENT it is the manifest that is of another store.
      failures.check(
          name + " of another store",
          storage,
          () -> check(fixture, storage, fixture.files.keySet(), newest));
    }
    failures.report();
  }

  private static void sweep(String method, StoreAtRest fixture) {
    sweep(method, fixture, damages(fixture));
  }

  private static void sweep(String method, StoreAtRest fixture, List<Damage> damages) {
    Sample.of(damages)
        .meeting(damage -> List.of(damage.file(), damage.kind(), damage.value()))
        .meeting(damage -> List.of(damage.file(), stretch(fixture, damage)))
        .run(
            DamageSweepTest.class,
            method,
            CASES,
            (cases, seed) -> {
              Failures failures = new Failures();
              cases.forEach(damage -> check(failures, fixture, damage));
              failures.report();
            });
  }

  private static int stretch(StoreAtRest fixture, Damage damage) {
    return STRETCHES * damage.offset() / length(fixture, damage.file());
  }

  private static List<Damage> damages(StoreAtRest fixture) {
    List<Damage> damages = new ArrayList<>();
    for (String file : fixture.files.keySet()) {
      int length = length(fixture, file);
      for (int i = 0; i < length; i++) {
        damages.add(new Damage(file, Kind.FLIP, i, 1, 1 << i % 8));
        damages.add(new Damage(file, Kind.CUT, i, 0, 0));
        for (int value : new int[] {0, 0xff}) {
          damages.add(new Damage(file, Kind.OVERWRITE, i, 1, value));
          if (i % RUN_BYTES == 0) {
            int count = Math.min(RUN_BYTES, length - i);
            damages.add(new Damage(file, Kind.OVERWRITE, i, count, value));
          }
        }
      }
      for (int count : new int[] {1, 31, 600}) {
        for (int value : new int[] {0, 0xa5}) {
          damages.add(new Damage(file, Kind.GROW, length + count, count, value));
        }
      }
    }
    return damages;
  }

  private static void check(Failures failures, StoreAtRest fixture, Damage damage) {
    CrashableStorage storage = fixture.storage();
    storage.replace(damage.file(), damage.applied(bytes(fixture, damage.file())));
    List<Integer> allowed = damage.allowed(fixture);
    failures.check(
        damage.toString(), storage, () -> check(fixture, storage, Set.of(damage.file()), allowed));
  }

  /** States that may be found when bytes from {@code offset} on do not hold; errors always may. */
  private static List<Integer> allowedWhenDamaged(StoreAtRest fixture, String name, int offset) {
    int newest = fixture.states.size() - 1;
    if (!name.equals(fixture.tail) || offset < fixture.syncedEnd) {
      return List.of(newest);
    }
    int sound = fixture.base;
    for (int end : fixture.ends) {
      sound += end <= offset ? 1 : 0;
    }
    return List.of(sound);
  }

  /** A log that ends early says nothing about what was behind its end. */
  private static List<Integer> allowedWhenCut(StoreAtRest fixture, String name, int length) {
    int newest = fixture.states.size() - 1;
    if (!name.equals(fixture.tail)) {
      return List.of(newest);
    }
    if (length < fixture.replayFrom) {
      return List.of();
    }
    int sound = fixture.base;
    for (int end : fixture.ends) {
      sound += end <= length ? 1 : 0;
    }
    return List.of(sound);
  }

  /** Opens, reads everything twice over, closes. */
  private static void check(
      StoreAtRest fixture, CrashableStorage storage, Set<String> damaged, List<Integer> allowed) {
    Excuse excuse = Excuse.of(damaged);
    StorageEngine engine;
    try {
      engine = StoreAtRest.open(storage);
    } catch (KvException e) {
      excuse.require(e);
      assertEquals(List.of(), storage.openFiles(), "open files after a refused open");
      return;
    }
    try {
      NavigableMap<byte[], byte[]> found = new TreeMap<>(Arrays::compareUnsigned);
      Set<byte[]> unreadable = new TreeSet<>(Arrays::compareUnsigned);
      Set<byte[]> keys = new TreeSet<>(Arrays::compareUnsigned);
      fixture.states.forEach(state -> keys.addAll(state.keySet()));
      for (byte[] key : keys) {
        readOne(engine, key, found, unreadable, excuse);
      }
      int state = matching(fixture, allowed, found, unreadable);
      scan(engine, fixture.states.get(state), excuse);
    } finally {
      close(engine, storage, excuse);
    }
  }

  private static void readOne(
      StorageEngine engine,
      byte[] key,
      NavigableMap<byte[], byte[]> found,
      Set<byte[]> unreadable,
      Excuse excuse) {
    try {
      byte[] value = engine.reads().get(0, key, StoreReads.LATEST);
      if (value != null) {
        found.put(key, value);
      }
    } catch (CorruptionException | IncompatibleFormatException e) {
      excuse.require(e);
      unreadable.add(key);
    }
  }

  private static int matching(
      StoreAtRest fixture,
      List<Integer> allowed,
      NavigableMap<byte[], byte[]> found,
      Set<byte[]> unreadable) {
    for (int index : allowed) {
      NavigableMap<byte[], byte[]> expected = new TreeMap<>(fixture.states.get(index));
      expected.keySet().removeAll(unreadable);
      if (TrackedEngine.text(expected).equals(TrackedEngine.text(found))) {
        return index;
      }
    }
    StringBuilder states = new StringBuilder();
    allowed.forEach(i -> states.append(TrackedEngine.text(fixture.states.get(i))));
    return fail(
        "found "
            + TrackedEngine.text(found)
            + " and "
            + unreadable.size()
            + " unreadable, allowed "
            + allowed
            + states);
  }

  private static void scan(
      StorageEngine engine, NavigableMap<byte[], byte[]> expected, Excuse excuse) {
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    int count = 0;
    try (SnapshotCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
      while (cursor.next()) {
        count++;
        byte[] value = expected.get(cursor.key());
        assertTrue(value != null, "a key that was never there");
        assertEquals(value.length, cursor.valueLength());
        try {
          assertTrue(Arrays.equals(value, cursor.value()), "a wrong value in a scan");
        } catch (CorruptionException e) {
          excuse.require(e);
        }
      }
      assertEquals(expected.size(), count, "entries of a scan");
    } catch (CorruptionException | IncompatibleFormatException e) {
      excuse.require(e);
    }
  }

  private static void close(StorageEngine engine, CrashableStorage storage, Excuse excuse) {
    try {
      engine.close();
    } catch (KvException e) {
      excuse.require(e);
    }
    assertEquals(0, engine.memoryBytes(), "off-heap bytes after close");
    assertEquals(List.of(), storage.openFiles(), "open files after close");
  }

  private static void expectRefusal(CrashableStorage storage, Set<String> damaged) {
    try {
      StorageEngine engine = StoreAtRest.open(storage);
      engine.close();
    } catch (KvException e) {
      Excuse.of(damaged).require(e);
      return;
    }
    fail("it opened");
  }

  private static CrashableStorage without(StoreAtRest fixture, String name) {
    CrashableStorage storage = new CrashableStorage();
    for (Map.Entry<String, byte[]> file : fixture.files.entrySet()) {
      if (!file.getKey().equals(name)) {
        storage.replace(file.getKey(), file.getValue());
      }
    }
    return storage;
  }

  private static void corrupt(CrashableStorage storage, String name, int offset, int mask) {
    try {
      storage.corrupt(name, offset, value -> value ^ mask);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] bytes(StoreAtRest fixture, String name) {
    byte[] bytes = fixture.files.get(name);
    assertTrue(bytes != null);
    return bytes;
  }

  private static int length(StoreAtRest fixture, String name) {
    return bytes(fixture, name).length;
  }
}
