package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Excuse;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * One opening of a damaged {@link SweptStore}, for reading only or for everything: every read gives
 * the right answer or an error that names a damaged file and a place in it; and what compaction and
 * reclaim do about the damage takes nothing away that was readable before, not even after another
 * opening. Not thread safe.
 */
final class DamagedRun {
  private static final byte[] WRITTEN_KEY = {'z'};
  private static final byte[] WRITTEN_VALUE = new byte[100];

  /** What a store of a few kilobytes may need, whatever lengths are damaged. */
  private static final long MEMORY_BYTES_MAX = 8 << 20;

  private final SweptStore sound;
  private final Map<String, byte[]> files;
  private final Excuse excuse;

  /** Called between maintenance and the checks behind it; a canary harms the store here. */
  private final Consumer<KvStore> afterMaintenance;

  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler = new ManualScheduler(3, 1);
  private boolean written;

  DamagedRun(
      SweptStore sound,
      Map<String, byte[]> files,
      Set<String> damaged,
      Consumer<KvStore> afterMaintenance) {
    this.sound = sound;
    this.files = Map.copyOf(files);
    excuse = Excuse.of(damaged);
    this.afterMaintenance = afterMaintenance;
  }

  /** Whether it opened. Nothing may change in either case. */
  boolean readOnly() {
    place();
    boolean opened = opened(/* readOnly= */ true, this::readAll);
    requireUnchanged();
    return opened;
  }

  /** Whether it opened; a store that does not is left as it was. */
  boolean readWrite() {
    place();
    List<Set<String>> readable = new ArrayList<>();
    boolean opened =
        opened(
            /* readOnly= */ false,
            store -> {
              readable.add(readAll(store));
              store.put(WRITTEN_KEY, WRITTEN_VALUE);
              written = true;
              maintain(store);
              afterMaintenance.accept(store);
              Set<String> after = readAll(store);
              requireNothingLost(readable.get(0), after, "maintenance");
              assertArrayEquals(WRITTEN_VALUE, store.get(WRITTEN_KEY), "what was put just now");
              readable.add(after);
            });
    if (!opened) {
      requireUnchanged();
      return false;
    }
    storage = storage.crashSyncedOnly();
    boolean again =
        opened(
            /* readOnly= */ false,
            store -> {
              requireNothingLost(readable.get(0), readAll(store), "another opening");
              assertArrayEquals(WRITTEN_VALUE, store.get(WRITTEN_KEY), "what was put before");
            });
    assertTrue(again, "it opened once and does not open again");
    return true;
  }

  private boolean opened(boolean readOnly, Consumer<KvStore> work) {
    KvStore store;
    scheduler = new ManualScheduler(3, 1);
    try {
      store = SweptStore.open(storage, new Random(5), scheduler, readOnly);
    } catch (KvException e) {
      excuse.require(e);
      assertEquals(List.of(), storage.openFiles(), "open files after a refused open");
      return false;
    }
    long peak;
    try {
      work.accept(store);
    } finally {
      peak = store.stats().memoryPeakBytes();
      try {
        store.close();
      } catch (KvException e) {
        excuse.require(e);
      }
    }
    assertTrue(peak <= MEMORY_BYTES_MAX, () -> peak + " bytes of memory");
    assertEquals(List.of(), storage.openFiles(), "open files after close");
    return true;
  }

  /** Compaction and reclaim, asked for and by themselves; damage is the only excuse. */
  private void maintain(KvStore store) {
    excuse.bears(store::compact);
    excuse.bears(() -> requireDamaged(store.reclaim().damagedFiles()));
    for (int i = 0; i < 3; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    requireDamaged(store.stats().reclaim().damagedFiles());
  }

  private void requireDamaged(List<String> named) {
    assertTrue(
        named.stream().allMatch(excuse::covers),
        () -> "reclaim names " + named + " instead of " + excuse.damaged());
  }

  /** Names of the entries that were read, right or rightly absent; all others gave an error. */
  private Set<String> readAll(KvStore store) {
    assertEquals(List.of("alpha", "beta"), store.keyspaces());
    Set<String> readable = new HashSet<>();
    sound.contents.forEach(
        (space, expected) -> {
          KvReader reader = space.isEmpty() ? store : store.in(store.keyspace(space));
          for (byte[] key : keys(space)) {
            excuse.bears(() -> get(reader, space, key, expected, readable));
          }
          excuse.bears(() -> getAll(reader, expected));
          for (ScanOptions options : List.of(ScanOptions.all(), ScanOptions.all().reverse())) {
            scan(reader, options, expected, space.isEmpty());
          }
        });
    return readable;
  }

  private Set<byte[]> keys(String space) {
    Set<byte[]> keys = new TreeSet<>(Arrays::compareUnsigned);
    sound.everWritten.values().forEach(entries -> keys.addAll(entries.keySet()));
    keys.add(("never-in-" + space).getBytes(UTF_8));
    return keys;
  }

  private static void get(
      KvReader reader,
      String space,
      byte[] key,
      NavigableMap<byte[], byte[]> expected,
      Set<String> readable) {
    String name = space + "/" + new String(key, UTF_8);
    byte[] value = reader.get(key);
    assertArrayEquals(expected.get(key), value, () -> "value of " + name);
    assertEquals(value != null, reader.contains(key), () -> "contains of " + name);
    readable.add(name);
  }

  private static void getAll(KvReader reader, NavigableMap<byte[], byte[]> expected) {
    List<byte[]> keys = List.copyOf(expected.keySet());
    List<byte[]> values = new ArrayList<>();
    reader.getAll(keys).forEach(values::add);
    for (int i = 0; i < keys.size(); i++) {
      assertArrayEquals(expected.get(keys.get(i)), values.get(i), "a value of getAll");
    }
  }

  /** Goes on behind a value that cannot be read, and ends where the cursor cannot move. */
  private void scan(
      KvReader reader, ScanOptions options, NavigableMap<byte[], byte[]> all, boolean inDefault) {
    NavigableMap<byte[], byte[]> expected = new TreeMap<>(all);
    if (written && inDefault) {
      expected.put(WRITTEN_KEY, WRITTEN_VALUE);
    }
    boolean reverse = options.bounds(Keyspaces.DEFAULT).reverse();
    NavigableMap<byte[], byte[]> order = reverse ? expected.descendingMap() : expected;
    excuse.bears(
        () -> {
          try (KvCursor cursor = reader.cursor(options)) {
            for (Map.Entry<byte[], byte[]> entry : order.entrySet()) {
              assertTrue(cursor.next(), "a scan ends too early");
              assertArrayEquals(entry.getKey(), cursor.key(), "a key of a scan");
              assertEquals(entry.getValue().length, cursor.valueLength());
              excuse.bears(
                  () -> assertArrayEquals(entry.getValue(), cursor.value(), "a scan's value"));
            }
            assertTrue(!cursor.next(), "a scan goes on too far");
          }
        });
  }

  private static void requireNothingLost(Set<String> before, Set<String> after, String through) {
    Set<String> lost = new TreeSet<>(before);
    lost.removeAll(after);
    assertEquals(Set.of(), lost, () -> "entries lost through " + through);
  }

  private void place() {
    storage = new CrashableStorage();
    files.forEach(
        (name, bytes) -> {
          if (StoreFiles.kindOf(name) != Kind.LOCK) {
            storage.replace(name, bytes);
          }
        });
  }

  /** The process that locks makes the lock file. */
  private void requireUnchanged() {
    CrashableStorage left = storage.crashKeepingAll();
    try {
      Set<String> names = new TreeSet<>(left.list());
      Set<String> expected = new TreeSet<>(files.keySet());
      names.remove(StoreFiles.LOCK);
      expected.remove(StoreFiles.LOCK);
      assertEquals(expected, names, "files");
      for (String name : names) {
        assertArrayEquals(files.get(name), left.contents(name), name);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
