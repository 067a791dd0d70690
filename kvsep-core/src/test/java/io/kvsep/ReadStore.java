package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Excuse;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * All that can be read of a store with files that may be damaged, in every way of reading. All ways
 * have to agree. By {@code keyspace/key}.
 */
final class ReadStore {
  /** More entries than any of these stores has: a scan that goes on is one without an end. */
  private static final int ENTRIES_MAX = 10_000;

  final NavigableMap<String, byte[]> found = new TreeMap<>();

  /** Names of those that ended with an error. */
  final Set<String> unreadable = new TreeSet<>();

  private final Set<String> names;
  private final Excuse excuse;

  /** Whether checksums tell what is right; else only errors of the wrong kind are faults. */
  private final boolean judges;

  /** Some reading ended with an error. */
  boolean errors;

  /**
   * @param names keys to be looked up
   */
  ReadStore(KvStore store, Set<String> names, Excuse excuse, boolean judges) {
    this.names = names;
    this.excuse = excuse;
    this.judges = judges;
    Map<String, KvReader> readers = new TreeMap<>(Map.of("", store));
    for (String space : store.keyspaces()) {
      readers.put(space, store.in(store.keyspace(space)));
    }
    readers.forEach(this::readSpace);
    try (Snapshot snapshot = store.snapshot()) {
      for (String name : names) {
        if (name.startsWith("/")) {
          bears(() -> requireSame(name, snapshot.get(key(name)), "a snapshot"));
        }
      }
    }
  }

  /** Whether this may be what was read, where some of it could not be. */
  boolean matches(Map<String, byte[]> state) {
    return mismatches(state).isEmpty();
  }

  Set<String> mismatches(Map<String, byte[]> state) {
    Set<String> other = new TreeSet<>();
    for (String name : names) {
      if (!unreadable.contains(name) && !Arrays.equals(found.get(name), state.get(name))) {
        other.add(name);
      }
    }
    return other;
  }

  static byte[] key(String name) {
    return name.substring(name.indexOf('/') + 1).getBytes(UTF_8);
  }

  private boolean bears(Runnable work) {
    boolean whole = excuse.bears(work);
    errors |= !whole;
    return whole;
  }

  private void readSpace(String space, KvReader reader) {
    List<String> keys = names.stream().filter(name -> name.startsWith(space + "/")).toList();
    for (String name : keys) {
      if (!bears(() -> get(reader, name))) {
        unreadable.add(name);
      }
      bears(() -> reader.read(key(name), ReadStore::sum));
    }
    bears(() -> getAll(reader, keys));
    for (ScanOptions options : List.of(ScanOptions.all(), ScanOptions.all().reverse())) {
      TreeMap<String, byte[]> seen = new TreeMap<>();
      if (bears(() -> scan(space, reader, options, seen)) && judges) {
        Set<String> missing = new TreeSet<>(found.subMap(space + "/", space + "0").keySet());
        missing.removeAll(seen.keySet());
        assertEquals(Set.of(), missing, "a scan misses these");
      }
    }
    bears(() -> seek(reader));
  }

  private static int sum(ByteBuffer value) {
    int sum = 0;
    while (value.hasRemaining()) {
      sum += value.get();
    }
    return sum;
  }

  private void get(KvReader reader, String name) {
    byte[] value = reader.get(key(name));
    if (value != null) {
      found.put(name, value);
    }
    assertTrue(!judges || reader.contains(key(name)) == (value != null), "contains of " + name);
  }

  private void getAll(KvReader reader, List<String> keys) {
    List<byte @Nullable []> values = reader.getAll(keys.stream().map(ReadStore::key).toList());
    for (int i = 0; i < keys.size(); i++) {
      requireSame(keys.get(i), values.get(i), "getAll");
    }
  }

  private void requireSame(String name, byte @Nullable [] value, String by) {
    if (judges && !unreadable.contains(name)) {
      assertArrayEquals(found.get(name), value, () -> "value of " + name + " by " + by);
    }
  }

  private void scan(
      String space, KvReader reader, ScanOptions options, NavigableMap<String, byte[]> seen) {
    try (KvCursor cursor = reader.cursor(options)) {
      while (cursor.next()) {
        String name = space + "/" + new String(cursor.key(), UTF_8);
        byte[] before = seen.put(name, cursor.key());
        assertTrue(!judges || before == null, () -> name + " twice in a scan");
        assertTrue(seen.size() < ENTRIES_MAX, "a scan without an end");
        bears(() -> requireScanned(name, cursor.valueLength(), cursor.value()));
        if (before != null) {
          return;
        }
      }
    }
  }

  private void requireScanned(String name, int length, byte[] value) {
    if (names.contains(name)) {
      requireSame(name, value, "a scan");
    }
    assertTrue(!judges || value.length == length, () -> "length of the value of " + name);
  }

  private static void seek(KvReader reader) {
    try (KvCursor cursor = reader.cursor()) {
      for (String key : List.of("key-0", "key-02", "key-04")) {
        if (cursor.seek(key.getBytes(UTF_8))) {
          cursor.key();
          cursor.previous();
          cursor.next();
        }
        if (cursor.seekFloor(key.getBytes(UTF_8))) {
          cursor.next();
        }
      }
    }
  }
}
