package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * The store itself or a keyspace of it, and which versions of each key may be seen in it. Each
 * writer has a band of keys of its own, so the versions of a key are written one after the other:
 * from the last one that was acknowledged before a read began up to the last one that was begun
 * before it ended. Absent a key may be if one of these is a delete; version 0 is one.
 *
 * <p>Thread safe: a key's versions are told by its writer alone, what a reader has seen by the
 * reader.
 */
final class StressSpace {
  static final int BAND = 40;
  static final Duration TIME_TO_LIVE = Duration.ofDays(1);
  private static final int KEY_LENGTH_MIN = 2;

  /** What all versions of a space's keys were, each at one time. */
  record Bounds(long[] floors, long[] issued, long[] deleted) {}

  final long number;
  final int keyCount;

  /** Set before the keyspace is dropped and after; a store is never dropped. */
  volatile boolean dropping;

  volatile boolean dropped;

  private final @Nullable String name;
  private volatile @Nullable Keyspace handle;
  private volatile @Nullable KvView view;
  private final AtomicLongArray issued;
  private final AtomicLongArray deleted;
  private final AtomicLongArray acknowledged;

  /** By reader and key: twice the newest version seen, and one more if it was seen to be gone. */
  private final long[][] seen;

  /** Without a name it is the store itself. */
  StressSpace(long number, @Nullable String name, int writers, int readers) {
    this.number = number;
    this.name = name;
    keyCount = writers * BAND;
    issued = new AtomicLongArray(keyCount);
    deleted = new AtomicLongArray(keyCount);
    acknowledged = new AtomicLongArray(keyCount);
    seen = new long[readers][keyCount];
  }

  boolean isKeyspace() {
    return name != null;
  }

  String name() {
    return Objects.requireNonNull(name);
  }

  /** Makes or finds the keyspace in a store that was just opened. */
  void open(KvStore store) {
    if (isKeyspace()) {
      Keyspace opened = store.keyspace(name());
      view = store.in(opened);
      handle = opened;
    }
  }

  Keyspace handle() {
    return Objects.requireNonNull(handle);
  }

  KvReader reader(KvStore store) {
    return isKeyspace() ? Objects.requireNonNull(view) : store;
  }

  KvWriter writer(KvStore store) {
    return isKeyspace() ? Objects.requireNonNull(view) : store;
  }

  KvReader reader(Snapshot snapshot) {
    return isKeyspace() ? snapshot.in(handle()) : snapshot;
  }

  WriteBatch into(WriteBatch batch) {
    return isKeyspace() ? batch.in(handle()) : batch.inDefault();
  }

  /** Keys of different lengths, in the order of their indexes. */
  static byte[] key(int index) {
    byte[] key = new byte[KEY_LENGTH_MIN + index % 7 * 5];
    key[0] = (byte) (index >>> 8);
    key[1] = (byte) index;
    return key;
  }

  /** Before the key of that index and behind all with a lower one. */
  static byte[] bound(int index) {
    return new byte[] {(byte) (index >>> 8), (byte) index};
  }

  /** What belongs to this test and is not a counter. */
  ScanOptions everything() {
    return ScanOptions.range(null, bound(keyCount));
  }

  static int index(byte[] key) {
    int index = (key[0] & 0xff) << 8 | (key[1] & 0xff);
    assertEquals(KEY_LENGTH_MIN + index % 7 * 5, key.length, "length of a key");
    return index;
  }

  byte[] value(int index, long version) {
    return StressValue.of(number, index, version);
  }

  boolean expires(int index, long version) {
    return StressValue.expires(number, index, version);
  }

  long version(int index, ByteBuffer value) {
    return StressValue.version(number, index, value);
  }

  /** The version to write next, which readers may see from here on. Called by the key's writer. */
  long issue(int index, boolean deletes) {
    long version = issued.get(index) + 1;
    if (deletes) {
      deleted.set(index, version);
    }
    issued.set(index, version);
    return version;
  }

  /** The version is written, and no reader may see an older one from here on. */
  void acknowledge(int index, long version) {
    acknowledged.set(index, version);
  }

  long issued(int index) {
    return issued.get(index);
  }

  long acknowledged(int index) {
    return acknowledged.get(index);
  }

  /**
   * Calls something that uses the keyspace; whether it was dropped instead. It may be refused only
   * once a thread has begun to drop it, and carried out only until that has ended.
   */
  boolean isDropped(Runnable use) {
    boolean droppedBefore = dropped;
    try {
      use.run();
    } catch (IllegalStateException e) {
      if (!dropping) {
        throw new AssertionError("refused, but no thread drops keyspace " + name, e);
      }
      return true;
    }
    assertTrue(!droppedBefore, () -> "keyspace " + name + " was dropped and can be used");
    return false;
  }

  long[] floors() {
    long[] floors = new long[keyCount];
    for (int i = 0; i < keyCount; i++) {
      floors[i] = acknowledged.get(i);
    }
    return floors;
  }

  /** For what was read, or the moment that was taken, between the floors and now. */
  Bounds bounds(long[] floors) {
    long[] nowIssued = new long[keyCount];
    long[] nowDeleted = new long[keyCount];
    for (int i = 0; i < keyCount; i++) {
      // In this order: a delete is told before it is issued.
      nowIssued[i] = issued.get(i);
      nowDeleted[i] = deleted.get(i);
    }
    return new Bounds(floors, nowIssued, nowDeleted);
  }

  /** Checks one key that was read after the floor was known; version 0 says that it is absent. */
  void check(int reader, int index, long floor, long version) {
    long nowIssued = issued.get(index);
    check(reader, index, version, floor, nowIssued, deleted.get(index));
  }

  /** Checks one key of a moment. */
  void check(int reader, int index, Bounds bounds, long version) {
    check(
        reader,
        index,
        version,
        bounds.floors()[index],
        bounds.issued()[index],
        bounds.deleted()[index]);
  }

  private void check(int reader, int index, long version, long floor, long last, long deletedLast) {
    long before = seen[reader][index];
    boolean right;
    if (version == 0) {
      // Seen before and not gone then, it takes a later delete to be gone now.
      boolean present = before > 0 && before % 2 == 0;
      right = deletedLast >= floor && (!present || deletedLast > before / 2);
      seen[reader][index] = present ? before + 1 : before;
    } else {
      right = floor <= version && version <= last && 2 * version >= before;
      seen[reader][index] = 2 * version;
    }
    if (!right) {
      throw new AssertionError(
          ("reader %d: version %d of key %d in space %d (%s), acknowledged %d, issued %d,"
                  + " last delete %d, seen before %d%s")
              .formatted(
                  reader,
                  version,
                  index,
                  number,
                  name,
                  floor,
                  last,
                  deletedLast,
                  before / 2,
                  before % 2 == 1 ? " and its delete" : ""));
    }
  }

  /** Whether there may be a value, which is all that {@code contains} tells. */
  void checkPresence(int index, long floor, boolean present) {
    long nowIssued = issued.get(index);
    long nowDeleted = deleted.get(index);
    boolean right = present ? nowDeleted != nowIssued || floor < nowIssued : nowDeleted >= floor;
    assertTrue(
        right,
        () ->
            "key "
                + index
                + " of space "
                + number
                + " present: "
                + present
                + ", acknowledged "
                + floor
                + ", issued "
                + nowIssued
                + ", last delete "
                + nowDeleted);
  }
}
