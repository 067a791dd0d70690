package io.kvsep.internal.memtable;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.MemtableBudget;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Index entries and deleted ranges of the newest part of the log. Owns its arena until {@link
 * #free}; the ranges are on the heap.
 *
 * <p>Thread safe: one thread at a time may insert while any number read, see {@link SkipList}.
 */
public final class Memtable {
  /** Ranges may take as much heap as the arena has bytes, within these bounds. */
  private static final long RANGE_BYTES_MIN = 1 << 20;

  private static final long RANGE_BYTES_MAX = 8 << 20;

  /** Memtables after a walked one that sort on insert. */
  private static final int ORDERED_BEHIND = 16;

  /** What the use of a memtable predicts about the next one. */
  public record Outlook(int orderedLeft, long expectedKeys) {
    public static final Outlook NONE = new Outlook(0, 0);
  }

  private final Region arena;
  private final MemtableBudget.@Nullable Grant grant;
  private final Nodes nodes;
  private final KeyIndex index;
  private final SkipList list;

  /** Prediction for this memtable; its count of memtables that sort on insert includes this one. */
  private final Outlook outlook;

  private final LogPosition logStart;
  private final EntrySample sample = new EntrySample();
  private final AtomicLong entryCount = new AtomicLong();

  /**
   * Separate from {@link #entryCount} because every lookup reads it and every insert changes the
   * count.
   */
  private volatile boolean empty = true;

  private final AtomicLong tombstoneCount = new AtomicLong();
  private final AtomicLong keyBytes = new AtomicLong();

  private volatile MemtableRanges ranges = MemtableRanges.NONE;

  /** Accessed only by the inserting thread. */
  private long rangeBytes;

  private final long firstMark;
  private final AtomicLong newestSequence = new AtomicLong();

  public static final class Splice {
    private final SkipList.Splice list = new SkipList.Splice();
  }

  /**
   * @param logStart where log replay starts if this memtable is lost
   * @param seed decides the tower heights
   */
  public Memtable(MemoryLedger ledger, long arenaBytes, LogPosition logStart, long seed) {
    this(ledger, arenaBytes, logStart, seed, Outlook.NONE);
  }

  /**
   * Creates a memtable that follows another one.
   *
   * @param outlook of the one before
   */
  public Memtable(
      MemoryLedger ledger, long arenaBytes, LogPosition logStart, long seed, Outlook outlook) {
    this(ledger, arenaBytes, null, logStart, seed, outlook);
  }

  /** Creates a memtable in granted memory, which is given back if that fails. */
  public static Memtable in(
      MemtableBudget.Grant grant,
      MemoryLedger ledger,
      LogPosition logStart,
      long seed,
      Outlook outlook) {
    boolean made = false;
    try {
      Memtable memtable = new Memtable(ledger, grant.bytes(), grant, logStart, seed, outlook);
      made = true;
      return memtable;
    } finally {
      if (!made) {
        grant.release();
      }
    }
  }

  /** A memtable without room, in place of the active one while nothing is written. */
  public static Memtable placeholder(
      MemoryLedger ledger, LogPosition logStart, long seed, Outlook outlook) {
    return new Memtable(ledger, Nodes.FIRST_FREE, null, logStart, seed, outlook);
  }

  private Memtable(
      MemoryLedger ledger,
      long arenaBytes,
      MemtableBudget.@Nullable Grant grant,
      LogPosition logStart,
      long seed,
      Outlook outlook) {
    this.logStart = logStart;
    this.grant = grant;
    this.outlook = outlook;
    this.arena = ledger.allocateUncleared(MemoryPurpose.MEMTABLE, arenaBytes);
    KeyIndex madeIndex = null;
    boolean made = false;
    try {
      madeIndex = new KeyIndex(ledger, arenaBytes, outlook.expectedKeys());
      this.index = madeIndex;
      this.nodes = new Nodes(arena, seed);
      this.list = new SkipList(nodes, madeIndex, /* defers= */ outlook.orderedLeft() == 0);
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

  public boolean isPlaceholder() {
    return arena.length() <= Nodes.FIRST_FREE;
  }

  /** Prediction for the next memtable. Called by the inserting thread. */
  public Outlook outlook() {
    if (isPlaceholder()) {
      return list.isOrderWanted() ? new Outlook(ORDERED_BEHIND, outlook.expectedKeys()) : outlook;
    }
    int ordered = list.isOrderWanted() ? ORDERED_BEHIND : Math.max(0, outlook.orderedLeft() - 1);
    return new Outlook(ordered, index.expectedKeys(list.isDeferring()));
  }

  /** Returns false, with nothing changed, if the memtable is full. */
  public boolean insert(Entry entry, Splice splice) {
    int kind = Tag.kind(entry.tag);
    if (kind == Tag.RANGE_DELETE) {
      return insertRange(entry);
    }
    int node = list.insert(entry, splice.list);
    if (node == SkipList.NULL) {
      return false;
    }
    sample.add(entryCount.getPlain(), node);
    countEntry();
    add(keyBytes, entry.keyLength);
    if (kind == Tag.DELETE) {
      add(tombstoneCount, 1);
    }
    newestSequence.setRelease(Tag.sequence(entry.tag));
    // Last, so that a thread that sees the mark sees the sequence number too.
    list.complete();
    return true;
  }

  private boolean insertRange(Entry entry) {
    byte[] from =
        Objects.requireNonNull(entry.keyRegion).getBytes(entry.keyOffset, entry.keyLength);
    byte[] to =
        Objects.requireNonNull(entry.valueRegion).getBytes(entry.valueOffset, entry.valueLength);
    long most = Math.min(RANGE_BYTES_MAX, Math.max(RANGE_BYTES_MIN, arena.length()));
    if (rangeBytes >= most || isPlaceholder()) {
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

  public MemtableRanges ranges() {
    return ranges;
  }

  /**
   * Node of the newest entry with a tag of at most {@code seekTag}; 0 if none.
   *
   * @param keyHash {@link io.kvsep.internal.memory.KeyHash#of} of the key
   */
  public int find(Region key, long offset, int length, long keyHash, long seekTag) {
    return list.find(key, offset, length, keyHash, seekTag);
  }

  /**
   * Separates earlier inserts from later ones for {@link #anySince}. Requires inserts in the order
   * of sequence numbers.
   */
  public long mark() {
    return list.completed();
  }

  /**
   * At least the sequence number of every entry before a mark taken earlier, and of every deleted
   * range completely inserted.
   */
  public long newestSequence() {
    return newestSequence.getAcquire();
  }

  /**
   * Visits keys drawn at random, all of them if the memtable has few entries. Needs no order and
   * takes some ten microseconds at most.
   *
   * @return how many keys each visited one stands for
   */
  public long sampleKeys(KeyVisitor visitor) {
    EntrySample.Drawn drawn = sample.drawn();
    Position newest = new Position();
    for (int i = 0; i < drawn.count(); i++) {
      int node = drawn.nodes()[i];
      if (!nodes.isOfVersion(node)) {
        nodes.read(list.newestVersion(node), newest);
        visitor.visit(arena, nodes.keyOffset(node), nodes.keyLength(node), nodes.tag(node), newest);
      }
    }
    return drawn.weight();
  }

  /** Whether the test holds for an entry inserted since the mark, ranges excluded. */
  public boolean anySince(long mark, EntryPredicate test) {
    return list.anyBetween(mark, list.completed(), test);
  }

  /** Like {@link #anySince}, for all entries. */
  public boolean any(EntryPredicate test) {
    return anySince(firstMark, test);
  }

  public long tag(int node) {
    return nodes.tag(node);
  }

  /** Sets tag and payload of {@code at}. */
  public void read(int node, Position at) {
    nodes.read(node, at);
  }

  public Region arena() {
    return arena;
  }

  /**
   * Whether the next insert may have to sort many entries first. Called by the inserting thread.
   */
  public boolean insertMayTakeLong() {
    return list.insertMayTakeLong();
  }

  /** Whether keys are sorted only on demand. Called by the inserting thread. */
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

  public boolean isEmpty() {
    return empty;
  }

  /** Reserved memory, used or not. Constant once inserts have ended. */
  public long memoryBytes() {
    return arena.length() + index.memoryBytes();
  }

  public long allocatedBytes() {
    return nodes.allocatedBytes();
  }

  /** Arena bytes that entries may still take. */
  public long freeBytes() {
    return nodes.freeBytes();
  }

  /** Arena bytes, used or not. */
  public long capacityBytes() {
    return arena.length();
  }

  /** Estimated arena bytes of the entries in addition to keys and payloads. */
  public static long arenaOverhead(long entries) {
    return Nodes.FIRST_FREE + entries * Nodes.OVERHEAD_BYTES;
  }

  /**
   * Covers all completely inserted entries, and perhaps later ones. The first iterator may have to
   * sort all entries, about 0.25 µs each.
   */
  public InternalIterator iterator() {
    list.wantOrder();
    return new MemtableIterator(list);
  }

  /** Sorts ahead of the first iterator, unless another thread is sorting. */
  public void prepareIterator() {
    list.prepareOrder();
  }

  /** Gives the granted memory back, as far as others may be granted it; it is freed later. */
  public void left() {
    if (grant != null) {
      grant.release();
    }
  }

  /** Frees the arena. No thread may read it any more. */
  public void free() {
    left();
    // Marks may outlive the memtable.
    ranges = MemtableRanges.NONE;
    index.free();
    arena.free();
  }
}
