package io.kvsep.internal.memtable;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The index entries of the newest part of the log, sorted as soon as somebody walks them, and
 * beside them the ranges that were deleted. Owns its arena until {@link #free}; the deleted ranges
 * are on the heap.
 *
 * <p>Thread safe: one thread at a time may insert while any number of threads read, see {@link
 * SkipList}. Whoever frees it makes sure that nobody reads any more.
 */
public final class Memtable {
  /** Deleted ranges may take as much of the heap as the arena takes beside it, within these. */
  private static final long RANGE_BYTES_MIN = 1 << 20;

  private static final long RANGE_BYTES_MAX = 8 << 20;

  /** So many memtables keep their keys in order from the beginning behind one that was walked. */
  private static final int ORDERED_BEHIND = 16;

  /** What is brought in order within a fraction of a millisecond. */
  private static final long UNORDERED_BYTES_MAX = 64 << 10;

  private final Region arena;
  private final Nodes nodes;
  private final KeyIndex index;
  private final SkipList list;

  /** How many in a row, this one included, keep their keys in order from the beginning. */
  private final int orderedLeft;

  private final LogPosition logStart;
  private final AtomicLong entryCount = new AtomicLong();

  /** Apart from the count: who looks something up asks, and each insert changes that. */
  private volatile boolean empty = true;

  private final AtomicLong tombstoneCount = new AtomicLong();
  private final AtomicLong keyBytes = new AtomicLong();

  private volatile MemtableRanges ranges = MemtableRanges.NONE;

  /** Of the thread that inserts. */
  private long rangeBytes;

  private final long firstMark;
  private final AtomicLong newestSequence = new AtomicLong();

  /** Room an insert works with; not thread safe, one per inserting thread. */
  public static final class Splice {
    private final SkipList.Splice list = new SkipList.Splice();
  }

  /**
   * One that is the first, or has nothing to do with others.
   *
   * @param arenaBytes what it may take, all of it reserved at once
   * @param logStart where the log begins that has to be replayed if this memtable is lost
   * @param seed decides the shape of the list
   */
  public Memtable(MemoryLedger ledger, long arenaBytes, LogPosition logStart, long seed) {
    this(ledger, arenaBytes, logStart, seed, null);
  }

  /**
   * One that comes after another, by who inserts into that.
   *
   * @param before what it was used for is what this one is taken to be used for
   */
  public Memtable(
      MemoryLedger ledger,
      long arenaBytes,
      LogPosition logStart,
      long seed,
      @Nullable Memtable before) {
    this.logStart = logStart;
    this.orderedLeft = before == null ? 0 : before.orderedBehind();
    this.arena = ledger.allocateUncleared(MemoryPurpose.MEMTABLE, arenaBytes);
    KeyIndex madeIndex = null;
    boolean made = false;
    try {
      madeIndex = new KeyIndex(ledger, arenaBytes, before == null ? 0 : before.expectedKeys());
      this.index = madeIndex;
      this.nodes = new Nodes(arena, seed);
      this.list = new SkipList(nodes, madeIndex, /* defers= */ orderedLeft == 0);
      this.firstMark = list.completed();
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

  private int orderedBehind() {
    return list.isOrderWanted() ? ORDERED_BEHIND : Math.max(0, orderedLeft - 1);
  }

  /** Adds the entry; false, with nothing changed, when there is no room for it. */
  public boolean insert(Entry entry, Splice splice) {
    if (Tag.kind(entry.tag) == Tag.RANGE_DELETE) {
      return insertRange(entry);
    }
    if (!list.insert(entry, splice.list)) {
      return false;
    }
    countEntry();
    add(keyBytes, entry.keyLength);
    if (Tag.kind(entry.tag) == Tag.DELETE) {
      add(tombstoneCount, 1);
    }
    newestSequence.setRelease(Tag.sequence(entry.tag));
    // Last: whoever sees the entry before this mark also sees the sequence number.
    list.complete();
    return true;
  }

  private boolean insertRange(Entry entry) {
    byte[] from =
        Objects.requireNonNull(entry.keyRegion).getBytes(entry.keyOffset, entry.keyLength);
    byte[] to =
        Objects.requireNonNull(entry.valueRegion).getBytes(entry.valueOffset, entry.valueLength);
    long most = Math.min(RANGE_BYTES_MAX, Math.max(RANGE_BYTES_MIN, arena.length()));
    if (rangeBytes >= most) {
      return false;
    }
    ranges = ranges.plus(from, to, Tag.sequence(entry.tag));
    rangeBytes += MemtableRanges.bytes(from, to);
    countEntry();
    add(keyBytes, entry.keyLength);
    add(tombstoneCount, 1);
    newestSequence.setRelease(Tag.sequence(entry.tag));
    return true;
  }

  private void countEntry() {
    add(entryCount, 1);
    if (empty) {
      empty = false;
    }
  }

  private static void add(AtomicLong count, long more) {
    count.setRelease(count.getPlain() + more);
  }

  /** The ranges deleted so far. */
  public MemtableRanges ranges() {
    return ranges;
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
    return list.completed();
  }

  /** No entry before a mark taken earlier has a higher sequence number, nor has a deleted range. */
  public long newestSequence() {
    return newestSequence.getAcquire();
  }

  /** Asks about what was inserted since, but for ranges; whether the answer was yes for one. */
  public boolean anySince(long mark, EntryTest test) {
    return list.anyBetween(mark, list.completed(), test);
  }

  /** As {@link #anySince}, about everything. */
  public boolean any(EntryTest test) {
    return anySince(firstMark, test);
  }

  public long tag(int node) {
    return nodes.tag(node);
  }

  public Region arena() {
    return arena;
  }

  public long payloadOffset(int node) {
    return nodes.payloadOffset(node);
  }

  public int payloadLength(int node) {
    return nodes.payloadLength(node);
  }

  /** How many keys the next one may be asked for, going by this one. By who inserts. */
  long expectedKeys() {
    return index.expectedKeys(list.isDeferring());
  }

  /** Whether the next insert may have to bring much in order first. By who inserts. */
  public boolean insertMayTakeLong() {
    return list.isDeferring()
        && list.isOrderWanted()
        && list.unorderedBytes() > UNORDERED_BYTES_MAX;
  }

  /** Whether keys are brought in order only when somebody wants that. By who inserts. */
  public boolean isDeferring() {
    return list.isDeferring();
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

  /** Whether nothing was inserted yet. */
  public boolean isEmpty() {
    return empty;
  }

  /** What it takes of memory, full or not; does not change any more when nothing is inserted. */
  public long memoryBytes() {
    return arena.length() + index.memoryBytes();
  }

  /** Arena bytes in use. */
  public long allocatedBytes() {
    return nodes.allocatedBytes();
  }

  /** About what many entries take of an arena besides keys and payloads. */
  public static long arenaOverhead(long entries) {
    return Nodes.overheadBytes() + entries * Nodes.overheadOfEach();
  }

  /**
   * An iterator over all whose insert was complete; it may also see what is inserted while it
   * walks. The first one of a memtable may have to bring everything in order before, which takes
   * about a quarter of a microsecond an entry.
   */
  public InternalIterator iterator() {
    list.wantOrder();
    return new MemtableIterator(list);
  }

  /** Saves whoever walks it first some of the work, unless somebody is at it. */
  public void prepareIterator() {
    list.prepareOrder();
  }

  /** Gives the arena back; only when nobody reads any more. */
  public void free() {
    // A mark may outlive it.
    ranges = MemtableRanges.NONE;
    index.free();
    arena.free();
  }
}
