package io.kvsep.internal.read;

import io.kvsep.error.KvException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.ReadBatch;
import io.kvsep.internal.vlog.RecordPrefetcher;
import io.kvsep.internal.vlog.ValueReader;
import java.util.Arrays;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings the values that a cursor is about to read into memory, many at once. A second iterator
 * over the same moment, the scout, runs ahead of the cursor and collects pointers; they are read in
 * two batches, of which one is being read while the cursor is in the other. Entries and batches
 * have nothing to do with each other but the place of a record: what the scout missed, or what
 * failed, the cursor reads as if there were no scout.
 *
 * <p>Unless a window was asked for, it runs only while values come from the device, and only for a
 * cursor that reads at least every fourth value it passes; batches then start small and grow.
 *
 * <p>Belongs to the thread that has claimed the cursor. Errors of the scout end its run and are
 * otherwise ignored. {@link #close} waits for the reads under way.
 */
final class ReadAhead implements PrefetchSink, AutoCloseable {
  /** Entries in the first batch behind a jump. */
  private static final int ENTRIES_MIN = 16;

  private static final int ENTRIES_MAX = 128;

  /** A cursor that moves more often between two values passes most of them. */
  private static final int MOVES_PER_READ_MAX = 4;

  /** The same where a window is asked for: half of it is one batch. */
  private static final int WINDOW_MAX = 4096;

  /** Bytes in a batch beyond which it takes no further record. */
  private static final long BATCH_BYTES_MAX = 4 << 20;

  /** Entries the scout passes for each pointer a batch has room for. */
  private static final int ENTRIES_PASSED = 4;

  /** Records that are brought near at first, and at most. */
  private static final int NEAR_MIN = 2;

  private static final int NEAR_MAX = 16;

  private final DeviceReads device;
  private final ValueReader values;
  private final Supplier<VisibleIterator> scouts;

  /** Entries in a batch, 0 for as many as seem right. */
  private final int entriesAsked;

  private final RecordPrefetcher near;
  private int nearNext = NEAR_MIN;

  private boolean foreseen;
  private @Nullable VisibleIterator scout;
  private boolean scoutStands;
  private long scoutSteps;
  private boolean forward;
  private int entriesNext;
  private @Nullable ReadBatch current;
  private @Nullable ReadBatch following;
  private long moves;
  private long movesAtRead = Long.MIN_VALUE / 2;

  /**
   * @param scouts makes iterators over what the cursor sees
   * @param window entries to be ahead, {@link ScanBounds#ADAPTIVE} for as many as seem right
   */
  ReadAhead(DeviceReads device, ValueReader values, Supplier<VisibleIterator> scouts, int window) {
    this.device = device;
    this.values = values;
    this.scouts = scouts;
    this.near = values.newNearRecords();
    this.entriesAsked =
        window == ScanBounds.ADAPTIVE ? 0 : Math.max(1, Math.min(window, WINDOW_MAX) / 2);
  }

  /** The cursor moved by one entry, in ascending or descending order of keys. */
  void moved(boolean ascending) {
    if (forward != ascending) {
      jumped(ascending);
    }
    moves++;
  }

  /** The cursor went somewhere else and is likely to go on in that order. */
  void jumped(boolean ascending) {
    forward = ascending;
    movesAtRead = Long.MIN_VALUE / 2;
  }

  /** Whether {@link #reach} is to be called before a value is read. */
  boolean isDue() {
    return entriesAsked > 0 || values.isCold();
  }

  /**
   * Called before the cursor reads the value of its entry, inside the epochs, when {@link #isDue}.
   *
   * @param pointerOffset of the pointer in the payload
   * @param stepsLeft entries that the cursor may still find
   */
  void reach(VisibleIterator cursor, long pointerOffset, long stepsLeft) {
    long movesSince = moves - movesAtRead;
    movesAtRead = moves;
    if (entriesAsked == 0 && (movesSince == 0 || movesSince > MOVES_PER_READ_MAX)) {
      return;
    }
    // What the cursor could not read is not the scout's to pass over.
    Region.requirePagesRead();
    Region payload = cursor.payloadRegion();
    ReadBatch batch = current;
    if (batch == null || !batch.covers(payload, pointerOffset)) {
      batch = following;
      if (batch != null && batch.covers(payload, pointerOffset)) {
        cancel(current);
      } else {
        restart(cursor, stepsLeft);
        batch = collect();
        current = batch;
        device.start(batch);
      }
      current = batch;
      following = collect();
      device.start(following);
    }
    batch.finish();
  }

  /**
   * Called before the cursor reads the value of its entry, inside the epochs, when {@link #isDue}
   * says that no more is needed. To a cursor that goes up from value to value it brings the next
   * ones near, the more the longer it does so.
   *
   * @param stepsLeft entries that the cursor may still find
   */
  void approach(VisibleIterator cursor, long stepsLeft) {
    long movesSince = moves - movesAtRead;
    movesAtRead = moves;
    if (movesSince != 1 || !forward) {
      nearNext = NEAR_MIN;
      return;
    }
    near.begin(Math.min(nearNext, stepsLeft == Long.MAX_VALUE ? stepsLeft : stepsLeft + 1));
    cursor.foresee(this);
    if (foreseen) {
      foreseen = false;
      nearNext = Math.min(2 * nearNext, NEAR_MAX);
      near.touch();
    }
  }

  @Override
  public boolean entry(long tag, Region payloadRegion, long payloadOffset) {
    int kind = Tag.kind(tag);
    foreseen = true;
    return Tag.baseKind(kind) != Tag.POINTER
        || near.add(payloadRegion, payloadOffset + Payload.headerLength(kind));
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

  /** The next batch, ready to be started; empty when the scout is at its end. */
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
      // Damage, a pointer that is none, or a device that fails under a mapping: the cursor finds it
      // when it gets there, if it ever does.
    }
  }

  private static void cancel(@Nullable ReadBatch batch) {
    if (batch != null) {
      batch.cancel();
    }
  }
}
