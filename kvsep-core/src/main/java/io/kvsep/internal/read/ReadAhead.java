package io.kvsep.internal.read;

import io.kvsep.error.KvException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.OrderedReads;
import io.kvsep.internal.vlog.ReadBatch;
import io.kvsep.internal.vlog.RecordPrefetcher;
import io.kvsep.internal.vlog.ValueReader;
import java.util.Arrays;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads values into memory in batches before a cursor needs them. A second iterator, the scout,
 * collects pointers; one batch is read while the cursor uses the other. The cursor reads what the
 * scout missed.
 *
 * <p>Without a requested window, it runs only while values come from the device and the cursor
 * reads at least every fourth value; batches grow.
 *
 * <p>Owned by the thread that has claimed the cursor. Errors only end the scout's run. {@link
 * #close} waits for reads in progress.
 */
final class ReadAhead implements PrefetchSink, AutoCloseable {
  /** Batch size after a jump. */
  private static final int ENTRIES_MIN = 16;

  private static final int ENTRIES_MAX = 128;

  /** With more moves per read, most values are skipped. */
  private static final int MOVES_PER_READ_MAX = 4;

  /** Maximum requested window; a batch is half of it. */
  private static final int WINDOW_MAX = 4096;

  /** A batch ends once its records exceed this. */
  private static final long BATCH_BYTES_MAX = 4 << 20;

  /** Maximum entries the scout passes per pointer of a batch. */
  private static final int ENTRIES_PASSED = 4;

  /** What was loaded longer ago may have left memory. */
  private static final long LOADED_NANOS = 100_000_000;

  /** Records prefetched into the processor caches at once. */
  private static final int NEAR_RECORDS = 8;

  /** Includes entries without a record, which may be many in a row. */
  private static final int NEAR_ENTRIES_MAX = 32;

  private final DeviceReads device;
  private final ValueReader values;
  private final Supplier<VisibleIterator> scouts;

  /** Batch size, 0 if adaptive. */
  private final int entriesAsked;

  private @Nullable RecordPrefetcher near;
  private @Nullable OrderedReads ordered;

  /** Number of moves at which the prefetched records are used up. */
  private long nearUntil;

  private @Nullable VisibleIterator scout;
  private boolean scoutStands;
  private long scoutSteps;
  private boolean forward;
  private int entriesNext;
  private @Nullable ReadBatch current;
  private @Nullable ReadBatch following;

  /** When the loads of the two batches began. */
  private long currentSince;

  private long followingSince;
  private long moves;
  private long movesAtRead = Long.MIN_VALUE / 2;

  /**
   * @param scouts creates iterators over what the cursor sees
   * @param window entries to read ahead, or {@link ScanBounds#ADAPTIVE}
   */
  ReadAhead(DeviceReads device, ValueReader values, Supplier<VisibleIterator> scouts, int window) {
    this.device = device;
    this.values = values;
    this.scouts = scouts;
    this.entriesAsked =
        window == ScanBounds.ADAPTIVE ? 0 : Math.max(1, Math.min(window, WINDOW_MAX) / 2);
  }

  void moved(boolean ascending) {
    if (forward != ascending) {
      jumped(ascending);
    }
    moves++;
  }

  /** The cursor jumped and probably continues in this order. */
  void jumped(boolean ascending) {
    forward = ascending;
    movesAtRead = Long.MIN_VALUE / 2;
    nearUntil = 0;
  }

  boolean isDue() {
    return entriesAsked > 0 || values.isCold();
  }

  /**
   * Call before the cursor reads its value, inside the epochs, when {@link #isDue}. Returns whether
   * the value was loaded a short time ago.
   *
   * @param pointerOffset of the pointer in the payload
   * @param stepsLeft entries the cursor may still find
   */
  boolean reach(VisibleIterator cursor, long pointerOffset, long stepsLeft) {
    long movesSince = moves - movesAtRead;
    movesAtRead = moves;
    if (entriesAsked == 0 && (movesSince == 0 || movesSince > MOVES_PER_READ_MAX)) {
      return false;
    }
    // The scout must not swallow a page fault of the cursor.
    Region.requirePagesRead();
    Region payload = cursor.payloadRegion();
    ReadBatch batch = current;
    boolean isCovered = batch != null && batch.covers(payload, pointerOffset);
    if (batch == null || !isCovered) {
      batch = following;
      isCovered = batch != null && batch.covers(payload, pointerOffset);
      if (batch != null && isCovered) {
        cancel(current);
        currentSince = followingSince;
      } else {
        restart(cursor, stepsLeft);
        batch = collect();
        isCovered = batch.covers(payload, pointerOffset);
        current = batch;
        currentSince = device.nanos();
        device.start(batch);
      }
      current = batch;
      following = collect();
      followingSince = device.nanos();
      device.start(following);
    }
    batch.finish();
    return isCovered && device.nanos() - currentSince < LOADED_NANOS;
  }

  /** As {@link #reach}; does nothing and returns false unless the value is one of many in order. */
  boolean loadOrdered(VisibleIterator cursor, long pointerOffset) {
    boolean goesOn = moves - movesAtRead <= MOVES_PER_READ_MAX;
    OrderedReads reads = ordered;
    if (!forward || entriesAsked > 0 || (reads == null && !goesOn)) {
      return false;
    }
    if (reads == null) {
      reads = values.newOrderedReads();
      ordered = reads;
    }
    boolean isLoaded = reads.load(cursor.payloadRegion(), pointerOffset, goesOn);
    if (isLoaded) {
      movesAtRead = moves;
    }
    return isLoaded;
  }

  /**
   * As {@link #reach}, when not {@link #isDue}. Prefetches the next records for a cursor that reads
   * every value in ascending order.
   *
   * @param stepsLeft entries the cursor may still find
   */
  void approach(VisibleIterator cursor, long stepsLeft) {
    long movesSince = moves - movesAtRead;
    movesAtRead = moves;
    if (movesSince == 1 && forward && moves >= nearUntil) {
      nearUntil = moves;
      RecordPrefetcher records = near();
      records.begin(stepsLeft < NEAR_RECORDS ? stepsLeft + 1 : NEAR_RECORDS);
      cursor.foresee(this);
      records.touch();
    }
  }

  @Override
  public boolean entry(long tag, Region payloadRegion, long payloadOffset) {
    int kind = Tag.kind(tag);
    nearUntil++;
    boolean isRoom =
        Tag.baseKind(kind) != Tag.POINTER
            || near().add(payloadRegion, payloadOffset + Payload.headerLength(kind));
    return isRoom && nearUntil - moves < NEAR_ENTRIES_MAX;
  }

  /** Made at the first use: many cursors are short. */
  private RecordPrefetcher near() {
    RecordPrefetcher records = near;
    if (records == null) {
      records = values.newNearRecords();
      near = records;
    }
    return records;
  }

  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    closes.run(() -> cancel(current));
    closes.run(() -> cancel(following));
    current = null;
    following = null;
    if (scout != null) {
      closes.run(scout::close);
      scout = null;
    }
    closes.throwFirst();
  }

  private void restart(VisibleIterator cursor, long stepsLeft) {
    cancel(current);
    cancel(following);
    current = null;
    following = null;
    scoutStands = false;
    scoutSteps = stepsLeft == Long.MAX_VALUE ? stepsLeft : stepsLeft + 1;
    entriesNext = entriesAsked == 0 ? ENTRIES_MIN : entriesAsked;
    byte[] key = Arrays.copyOf(cursor.key(), cursor.keyLength());
    step(() -> forward ? scout().seekAtOrAfter(key) : scout().seekAtOrBefore(key));
  }

  private VisibleIterator scout() {
    if (scout == null) {
      scout = scouts.get();
    }
    return scout;
  }

  private ReadBatch collect() {
    ReadBatch batch = values.newBatch();
    int passed = 0;
    while (scoutStands
        && scoutSteps > 0
        && batch.count() < entriesNext
        && batch.bytes() < BATCH_BYTES_MAX
        && passed < entriesNext * ENTRIES_PASSED) {
      VisibleIterator at = scout();
      passed++;
      scoutSteps--;
      step(
          () -> {
            if (Tag.baseKind(at.kind()) == Tag.POINTER) {
              batch.add(at.payloadRegion(), at.payloadOffset() + Payload.headerLength(at.kind()));
            }
            return forward ? at.next() : at.previous();
          });
    }
    if (entriesAsked == 0) {
      entriesNext = Math.min(ENTRIES_MAX, 2 * entriesNext);
    }
    batch.prepare();
    return batch;
  }

  private void step(Supplier<Boolean> move) {
    scoutStands = false;
    try {
      boolean stands = move.get();
      Region.requirePagesRead();
      scoutStands = stands;
    } catch (KvException | IndexOutOfBoundsException | InternalError e) {
      // Corruption, an invalid pointer, or a device error: the cursor reports it if it gets there.
    }
  }

  private static void cancel(@Nullable ReadBatch batch) {
    if (batch != null) {
      batch.cancel();
    }
  }
}
