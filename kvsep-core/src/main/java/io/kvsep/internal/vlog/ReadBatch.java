package io.kvsep.internal.vlog;

import io.kvsep.error.KvException;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.PageFault;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Loads records that are about to be read into the page cache, with several threads: sorted by
 * location, neighbours merged, long ranges split.
 *
 * <p>The owner, one thread, adds records, prepares and finishes; after {@link #prepare} other
 * threads may help with {@link #run}. Callers are inside an epoch, which the owner may leave in
 * between: only listed segments are accessed, and those stay while the caller is inside. After
 * {@link #cancel} no thread is reading, and a late helper finds no work. Uses no off-heap memory.
 *
 * <p>Read failures are left to the reader of the record.
 */
public final class ReadBatch {
  /** Reading a gap of this length costs less than another read. */
  private static final long GAP_BYTES_MAX = 8 << 10;

  /** The system already reads longer records ahead. */
  private static final int RECORD_BYTES_MAX = 4 << 20;

  /** Bytes per read of one thread. */
  private static final int PIECE_BYTES_MAX = 64 << 10;

  /** Offsets in a segment are below 2^31. */
  private static final int OFFSET_BITS = 32;

  private record Piece(Segment segment, long offset, int length) {}

  private final SegmentDirectory directory;
  private final List<Piece> records = new ArrayList<>();
  private final List<Piece> pieces = new ArrayList<>();
  private final AtomicInteger claimed = new AtomicInteger();
  private final RecordPlace place = new RecordPlace();

  /** Locations that the pointers name, in the order of the calls. */
  private long[] named = {};

  private long[] locations = {};

  private long bytes;
  private CountDownLatch unread = new CountDownLatch(0);

  ReadBatch(SegmentDirectory directory) {
    this.directory = directory;
  }

  /** Ignores a very long record and a damaged pointer. */
  public void add(Region pointer, long pointerOffset) {
    long segmentId = ValuePointer.segment(pointer, pointerOffset);
    long namedOffset = ValuePointer.offset(pointer, pointerOffset);
    int length = ValuePointer.recordLength(pointer, pointerOffset);
    if (!locate(segmentId, namedOffset)) {
      return;
    }
    Segment segment = place.segment();
    long offset = place.offset();
    if (offset >= 0
        && length > 0
        && length <= Math.min(RECORD_BYTES_MAX, segment.publishedEnd() - offset)) {
      int count = records.size();
      if (count == named.length) {
        named = Arrays.copyOf(named, Math.max(16, 2 * count));
      }
      named[count] = location(segmentId, namedOffset);
      records.add(new Piece(segment, offset, length));
      bytes += length;
    }
  }

  private boolean locate(long segmentId, long offset) {
    try {
      return directory.locate(segmentId, offset, place);
    } catch (KvException e) {
      // An unusable blob file.
      return false;
    }
  }

  public int count() {
    return records.size();
  }

  public long bytes() {
    return bytes;
  }

  /** Ends adding; from now on other threads may {@link #run}. */
  public void prepare() {
    records.sort(Comparator.comparingLong(piece -> location(piece.segment.id(), piece.offset)));
    locations = Arrays.copyOf(named, records.size());
    Arrays.sort(locations);
    Segment segment = null;
    long start = 0;
    long end = 0;
    for (Piece next : records) {
      if (next.segment != segment || next.offset - end > GAP_BYTES_MAX) {
        cut(segment, start, end);
        segment = next.segment;
        start = next.offset;
        end = start;
      }
      end = Math.max(end, next.offset + next.length);
    }
    cut(segment, start, end);
    unread = new CountDownLatch(pieces.size());
  }

  /** Unclaimed pieces. */
  public int waiting() {
    return Math.max(0, pieces.size() - claimed.get());
  }

  public void run() {
    while (readNext() != null) {
      // readNext() did the work
    }
  }

  /**
   * Like {@link #run}, but stops after the first piece from the device: the rest is worth waking
   * other threads.
   */
  public void runUntilSlow() {
    Boolean slow;
    do {
      slow = readNext();
    } while (slow != null && !slow);
  }

  /** Reads unclaimed pieces and waits for the claimed ones. */
  public void finish() {
    run();
    Uninterruptibles.await(unread);
  }

  /** Skips unclaimed pieces and waits for the claimed ones. */
  public void cancel() {
    int begun = claimed.getAndSet(pieces.size());
    for (int i = begun; i < pieces.size(); i++) {
      unread.countDown();
    }
    Uninterruptibles.await(unread);
  }

  public boolean covers(Region pointer, long pointerOffset) {
    long wanted =
        location(
            ValuePointer.segment(pointer, pointerOffset),
            ValuePointer.offset(pointer, pointerOffset));
    return Arrays.binarySearch(locations, wanted) >= 0;
  }

  /** Claims and reads a piece. Returns whether it came from the device; null if none is left. */
  private @Nullable Boolean readNext() {
    // Faults of earlier reads belong to their reader.
    Region.requirePagesRead();
    int index = claimed.get() < pieces.size() ? claimed.getAndIncrement() : pieces.size();
    if (index >= pieces.size()) {
      return null;
    }
    Piece piece = pieces.get(index);
    try {
      boolean isSlow = load(piece);
      Region.requirePagesRead();
      return isSlow;
    } catch (KvException e) {
      // Left to the reader of the record.
      return true;
    } catch (InternalError e) {
      if (!PageFault.is(e)) {
        throw e;
      }
      return true;
    } finally {
      unread.countDown();
    }
  }

  /** A listed segment stays while the caller is inside the epoch. */
  @SuppressWarnings("ReferenceEquality") // Another file may be listed under the same id.
  private boolean load(Piece piece) {
    Segment segment = piece.segment;
    if (directory.find(segment.id()) != segment) {
      return false;
    }
    Region region = segment.mapped(piece.offset + piece.length, piece.length);
    return region != null && directory.cold().load(region, piece.offset, piece.length);
  }

  private void cut(@Nullable Segment segment, long start, long end) {
    if (segment == null) {
      return;
    }
    for (long at = start; at < end; at += PIECE_BYTES_MAX) {
      pieces.add(new Piece(segment, at, (int) Math.min(PIECE_BYTES_MAX, end - at)));
    }
  }

  private static long location(long segment, long offset) {
    return segment << OFFSET_BITS | offset;
  }
}
