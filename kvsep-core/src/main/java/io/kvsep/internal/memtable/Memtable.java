package io.kvsep.internal.memtable;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The index entries of the newest part of the log, sorted, and beside them the ranges that were
 * deleted. Owns its arena until {@link #free}; the deleted ranges are few and on the heap.
 *
 * <p>Thread safe: one thread at a time may insert while any number of threads read, see {@link
 * SkipList}. Whoever frees it makes sure that nobody reads any more.
 */
public final class Memtable {
  /** Each range delete copies the fragments there are, so their number is kept small. */
  private static final int RANGE_FRAGMENTS_MAX = 1024;

  private static final long RANGE_BYTES_MAX = 1 << 20;

  private final Region arena;
  private final KeyIndex index;
  private final SkipList list;
  private final LogPosition logStart;
  private final AtomicLong entryCount = new AtomicLong();
  private final AtomicLong tombstoneCount = new AtomicLong();
  private final AtomicLong keyBytes = new AtomicLong();

  /** Guarded by itself. */
  private final RangeTombstones.Builder rangeBuilder = new RangeTombstones.Builder();

  private volatile RangeTombstones rangeTombstones = RangeTombstones.NONE;

  /** The list's position behind the last complete insert. */
  private final AtomicLong completed;

  private final long firstMark;
  private final AtomicLong newestSequence = new AtomicLong();

  /** Room an insert works with; not thread safe, one per inserting thread. */
  public static final class Splice {
    private final SkipList.Splice list = new SkipList.Splice();
  }

  /**
   * @param arenaBytes what it may take, all of it reserved at once
   * @param logStart where the log begins that has to be replayed if this memtable is lost
   * @param seed decides the shape of the list
   */
  public Memtable(MemoryLedger ledger, long arenaBytes, LogPosition logStart, long seed) {
    this(ledger, arenaBytes, logStart, seed, 0);
  }

  /**
   * One that comes after another.
   *
   * @param expectedKeys {@link #expectedKeys} of the one before
   */
  public Memtable(
      MemoryLedger ledger, long arenaBytes, LogPosition logStart, long seed, long expectedKeys) {
    this.logStart = logStart;
    this.arena = ledger.allocateUncleared(MemoryPurpose.MEMTABLE, arenaBytes);
    KeyIndex madeIndex = null;
    boolean made = false;
    try {
      madeIndex = new KeyIndex(ledger, arenaBytes, expectedKeys);
      this.index = madeIndex;
      this.list = new SkipList(arena, madeIndex, seed);
      this.firstMark = list.position();
      this.completed = new AtomicLong(firstMark);
      made = true;
    } finally {
      if (!made) {
        if (madeIndex != null) {
          madeIndex.free();
        }
        arena.free();
      }
    }
  }

  /** Adds the entry; false, with nothing changed, when there is no room for it. */
  public boolean insert(Entry entry, Splice splice) {
    if (Tag.kind(entry.tag) == Tag.RANGE_DELETE) {
      return insertRange(entry);
    }
    if (!list.insert(entry, splice.list)) {
      return false;
    }
    add(entryCount, 1);
    add(keyBytes, entry.keyLength);
    if (Tag.kind(entry.tag) == Tag.DELETE) {
      add(tombstoneCount, 1);
    }
    newestSequence.setRelease(Tag.sequence(entry.tag));
    // Last: whoever sees the entry before this mark also sees the sequence number.
    completed.setRelease(list.position());
    return true;
  }

  private boolean insertRange(Entry entry) {
    byte[] from =
        Objects.requireNonNull(entry.keyRegion).getBytes(entry.keyOffset, entry.keyLength);
    byte[] to =
        Objects.requireNonNull(entry.valueRegion).getBytes(entry.valueOffset, entry.valueLength);
    synchronized (rangeBuilder) {
      RangeTombstones present = rangeTombstones;
      if (present.count() >= RANGE_FRAGMENTS_MAX || present.bytes() >= RANGE_BYTES_MAX) {
        return false;
      }
      rangeTombstones = rangeBuilder.add(from, to, Tag.sequence(entry.tag)).build();
    }
    add(entryCount, 1);
    add(keyBytes, entry.keyLength);
    add(tombstoneCount, 1);
    newestSequence.setRelease(Tag.sequence(entry.tag));
    return true;
  }

  private static void add(AtomicLong count, long more) {
    count.setRelease(count.getPlain() + more);
  }

  /** The ranges deleted so far. */
  public RangeTombstones rangeTombstones() {
    return rangeTombstones;
  }

  /**
   * Node of the newest entry of {@code key} with a tag of at most {@code seekTag}; 0 for none.
   *
   * @param keyHash {@link io.kvsep.internal.memory.KeyHash#of} of the key
   */
  public int find(Region key, long offset, int length, long keyHash, long seekTag) {
    return list.find(key, offset, length, keyHash, seekTag);
  }

  /**
   * Tells what was inserted before from what will be, see {@link #anySince}. Means something only
   * where one thread inserts at a time, in the order of the sequence numbers.
   */
  public long mark() {
    return completed.getAcquire();
  }

  /** No entry before a mark taken earlier has a higher sequence number, nor has a deleted range. */
  public long newestSequence() {
    return newestSequence.getAcquire();
  }

  /** Asks about what was inserted since, but for ranges; whether the answer was yes for one. */
  public boolean anySince(long mark, EntryTest test) {
    return list.anyBetween(mark, completed.getAcquire(), test);
  }

  /** As {@link #anySince}, about everything. */
  public boolean any(EntryTest test) {
    return anySince(firstMark, test);
  }

  public long tag(int node) {
    return list.tag(node);
  }

  public Region arena() {
    return arena;
  }

  public long payloadOffset(int node) {
    return list.payloadOffset(node);
  }

  public int payloadLength(int node) {
    return list.payloadLength(node);
  }

  /** How many keys the next one may be asked for, going by this one. By who inserts. */
  public long expectedKeys() {
    return index.expectedKeys();
  }

  public LogPosition logStart() {
    return logStart;
  }

  public long entryCount() {
    return entryCount.get();
  }

  public long tombstoneCount() {
    return tombstoneCount.get();
  }

  public long keyBytes() {
    return keyBytes.get();
  }

  public boolean isEmpty() {
    return entryCount.get() == 0;
  }

  /** What it takes of memory, full or not; does not change any more when nothing is inserted. */
  public long memoryBytes() {
    return arena.length() + index.memoryBytes();
  }

  /** Arena bytes in use. */
  public long allocatedBytes() {
    return list.allocatedBytes();
  }

  /** About what many entries take of an arena besides keys and payloads. */
  public static long arenaOverhead(long entries) {
    return SkipList.overheadBytes() + entries * SkipList.overheadOfEach();
  }

  /** An iterator that also sees what is inserted while it walks. */
  public InternalIterator iterator() {
    return new MemtableIterator(list);
  }

  /** Gives the arena back; only when nobody reads any more. */
  public void free() {
    index.free();
    arena.free();
  }
}
