package io.kvsep.internal.vlog;

import io.kvsep.error.KvException;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Records that are going to be read, brought into memory by several threads at once: sorted by
 * location, neighbours joined, long ones cut into pieces. What is read goes to the system's file
 * cache, where {@link ValueReader#read} finds it.
 *
 * <p>One thread, the owner, adds records, prepares and finishes; then any number may help by {@link
 * #run}. All of them are inside the epochs, but the owner may leave these in between: a segment
 * that is not listed any more is not touched, and one that is stays while the caller is inside.
 * Behind {@link #cancel} no thread is at work, and one that comes late finds nothing to do. Holds
 * no off-heap memory.
 *
 * <p>A failed read is not reported here: the reader of the record meets the error.
 */
public final class ReadBatch {
  /** Bytes between two records that are read rather than left out: less than a read costs. */
  private static final long GAP_BYTES_MAX = 8 << 10;

  /** Longer records gain nothing from other threads that they do not have from the system. */
  private static final int RECORD_BYTES_MAX = 4 << 20;

  /** Bytes that one thread reads at once. */
  private static final int PIECE_BYTES_MAX = 64 << 10;

  /** Offsets in a segment are below 2^31, so this much of a location is enough for them. */
  private static final int OFFSET_BITS = 32;

  private record Piece(Segment segment, long offset, int length) {}

  private final ValueReader reader;
  private final List<Piece> records = new ArrayList<>();
  private final List<Piece> pieces = new ArrayList<>();
  private final AtomicInteger claimed = new AtomicInteger();
  private final RecordPlace place = new RecordPlace();

  /** What the pointers say, in the order of {@link #records}. */
  private long[] named = {};

  /** The same, sorted. */
  private long[] locations = {};

  private long bytes;
  private CountDownLatch unread = new CountDownLatch(0);

  ReadBatch(ValueReader reader) {
    this.reader = reader;
  }

  /**
   * Adds the record that a pointer names. One that is very long, or a pointer that is damaged, is
   * left to whoever follows it.
   */
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
      return reader.locate(segmentId, offset, place);
    } catch (KvException e) {
      // A relocated file that cannot be used: whoever follows the pointer finds it out himself.
      return false;
    }
  }

  /** Records added. */
  public int count() {
    return records.size();
  }

  /** Bytes of the records added. */
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

  /** Pieces that nobody has begun to read. */
  public int waiting() {
    return Math.max(0, pieces.size() - claimed.get());
  }

  /** Reads until nothing is left that another thread has not begun. */
  public void run() {
    while (readNext() != null) {
      // readNext() did the work
    }
  }

  /**
   * As {@link #run}, but stops after a piece that did not come from memory: for the rest it is
   * worth to wake other threads.
   */
  public void runUntilSlow() {
    Boolean slow;
    do {
      slow = readNext();
    } while (slow != null && !slow);
  }

  /** Reads the rest together with whoever else is at it, and waits for them. */
  public void finish() {
    run();
    Uninterruptibles.await(unread);
  }

  /** Leaves the rest unread; waits for the pieces that are being read. */
  public void cancel() {
    int begun = claimed.getAndSet(pieces.size());
    for (int i = begun; i < pieces.size(); i++) {
      unread.countDown();
    }
    Uninterruptibles.await(unread);
  }

  /** Whether the record that the pointer names is in this batch. */
  public boolean covers(Region pointer, long pointerOffset) {
    long wanted =
        location(
            ValuePointer.segment(pointer, pointerOffset),
            ValuePointer.offset(pointer, pointerOffset));
    return Arrays.binarySearch(locations, wanted) >= 0;
  }

  /** Reads a piece nobody has begun; whether it came from the device, null when there was none. */
  private @Nullable Boolean readNext() {
    int index = claimed.get() < pieces.size() ? claimed.getAndIncrement() : pieces.size();
    if (index >= pieces.size()) {
      return null;
    }
    Piece piece = pieces.get(index);
    try {
      return reader.isListed(piece.segment)
          && reader.load(piece.segment, piece.offset, piece.length);
    } catch (KvException e) {
      // The reader of the record meets the error again.
      return true;
    } finally {
      unread.countDown();
    }
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
