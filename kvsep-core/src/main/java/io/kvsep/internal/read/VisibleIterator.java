package io.kvsep.internal.read;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.HeapEntry;
import io.kvsep.internal.iterator.KeyLimit;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.time.Clock;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The entries of an internal iterator visible at one sequence number within bounds: each key's
 * newest version at or below it, unless it is a tombstone, expired, or under a newer range
 * tombstone. Sources older than that skip its range.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: forward, the source is on the current entry, or before it while entries come from
 *       {@link #ahead}. Backward, it is before all versions of the current key, whose entry is
 *       remembered.
 *   <li>I2: {@code current} has a copy of the current key to recognise its other versions. The
 *       source steps forward from that key, so the prefix its next key shares is in the copy.
 *   <li>I3: a remembered payload stays readable. Its region belongs to a pinned memtable, or to the
 *       table a level's iterator is in or left last; all versions of a key in a level are in one
 *       table, and no level's iterator moves past the preceding key. Backward, a payload that the
 *       next step invalidates is copied.
 * </ul>
 *
 * <p>Not thread safe. Owns and closes its source.
 */
final class VisibleIterator implements AutoCloseable {
  private static final long ALL = -1;

  private static final int NOT_BELOW = -1;

  /** Steps before lookahead is requested, which costs as much as a few steps. */
  private static final int STEPS_BEFORE_AHEAD = 4;

  private static final int UNKNOWN = Integer.MAX_VALUE;

  private static final int NEVER = -1;

  private final MergingIterator source;
  private final long sequence;
  private final @Nullable RangeCoverage coverage;
  private final @Nullable GapFinder gaps;
  private final Clock clock;

  /** A key for one call of the source, or for the caller. */
  private final GrowingRegion keyMemory;

  private final GrowingRegion passed;
  private final byte[] lower;
  private final byte[] upper;

  /** Shows changes after this sequence number, deletes too; {@link #ALL} for none. */
  private long since = ALL;

  private boolean forward = true;
  private final HeapEntry current = new HeapEntry();

  /** Source of the current entry; null if {@link #source} is on it. */
  private @Nullable EntryLookahead ahead;

  private final RangeSkipGuard leaps = new RangeSkipGuard();

  /** Steps since a jump; a cursor that jumps may take few. */
  private int walked;

  /**
   * Forward: where key copy and upper bound differ. A key that shares more bytes with the copy is
   * below the bound, too.
   */
  private int upperAt;

  private final KeyLimit limit;

  private @Nullable Region payloadRegion;

  /**
   * Takes over the source.
   *
   * @param coverage range tombstones, null for none
   * @param gaps known gaps, null if unused
   */
  VisibleIterator(
      MergingIterator source,
      long sequence,
      @Nullable RangeCoverage coverage,
      @Nullable GapFinder gaps,
      ScanBounds.Stored bounds,
      Clock clock,
      MemoryLedger ledger) {
    this.source = source;
    this.sequence = sequence;
    this.coverage = coverage;
    this.gaps = gaps;
    this.clock = clock;
    this.keyMemory = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.passed = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.lower = bounds.lower();
    this.upper = bounds.upper();
    this.limit = new KeyLimit(upper);
  }

  /**
   * Shows from now on each key's newest version above {@code sequence}, even a delete or expired
   * one, unless a newer range tombstone covers it or it is the placeholder tombstone of a table
   * without entries. Forward only.
   */
  void showChangesSince(long sequence) {
    since = sequence;
  }

  boolean first() {
    jump();
    source.seek(place(lower), 0, lower.length, Tag.MAX);
    return settleForward(/* skipCurrentKey= */ false, /* agreeing= */ 0);
  }

  boolean last() {
    jump();
    source.seekBefore(place(upper), 0, upper.length, Tag.MAX);
    return settleBackward();
  }

  boolean seekAtOrAfter(byte[] storedKey) {
    if (Arrays.compareUnsigned(storedKey, lower) < 0) {
      return first();
    }
    jump();
    source.seek(place(storedKey), 0, storedKey.length, Tag.MAX);
    return settleForward(/* skipCurrentKey= */ false, /* agreeing= */ 0);
  }

  boolean seekAtOrBefore(byte[] storedKey) {
    if (Arrays.compareUnsigned(storedKey, upper) >= 0) {
      return last();
    }
    jump();
    // Tag 0 sorts after all entries of the key.
    source.seekBefore(place(storedKey), 0, storedKey.length, 0);
    return settleBackward();
  }

  /** Requires a current entry. */
  boolean next() {
    EntryLookahead entries = ahead;
    return (entries != null && entries.next(current)) || step();
  }

  private boolean step() {
    if (!forward) {
      source.seek(keyRegion(), 0, current.keyLength, 0);
      return settleForward(/* skipCurrentKey= */ true, /* agreeing= */ 0);
    }
    if (ahead != null) {
      // Leaves the heap copy, possibly not on the thread that entered it.
      DeferredPageFaults.mayFollow();
      source.follow(current);
      ahead = null;
      upperAt = UNKNOWN;
    } else if (walked >= STEPS_BEFORE_AHEAD && coverage == null && since == ALL) {
      limit.differsAt = upperAt;
      EntryLookahead entries = source.ahead(limit, sequence);
      if (entries != null && entries.next(current)) {
        ahead = entries;
        refer(source.payloadRegion());
        return true;
      }
    }
    walked = Math.min(walked + 1, STEPS_BEFORE_AHEAD);
    source.next();
    return settleForward(/* skipCurrentKey= */ true, source.keyShared());
  }

  private void jump() {
    forgetAhead();
    leaps.forget();
  }

  private void forgetAhead() {
    ahead = null;
    walked = 0;
  }

  /** Requires a current entry. */
  boolean previous() {
    forgetAhead();
    if (forward) {
      source.seekBefore(keyRegion(), 0, current.keyLength, Tag.MAX);
    }
    return settleBackward();
  }

  /** As {@link MergingIterator#foresee}; includes invisible entries. */
  void foresee(PrefetchSink sink) {
    EntryLookahead entries = ahead;
    if (entries != null) {
      entries.foresee(sink);
    } else if (forward) {
      source.foresee(sink);
    }
  }

  /** Valid from 0 to its length, until the next step. */
  byte[] key() {
    return current.key;
  }

  /** The key, from 0, until the next call. */
  Region keyRegion() {
    int length = current.keyLength;
    Region copy = keyMemory.ensure(Math.max(1, length));
    copy.put(0, current.key, 0, length);
    return copy;
  }

  int keyLength() {
    return current.keyLength;
  }

  int kind() {
    return Tag.kind(current.tag);
  }

  Region payloadRegion() {
    return Objects.requireNonNull(payloadRegion);
  }

  long payloadOffset() {
    return current.payloadOffset;
  }

  int payloadLength() {
    return current.payloadLength;
  }

  @Nullable EntryLookahead ahead() {
    return ahead;
  }

  int copyPayload(EntryLookahead from, byte[] target) {
    return from.copyPayload(current, target);
  }

  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    closes.run(source::close);
    closes.run(keyMemory::close);
    closes.run(passed::close);
    closes.throwFirst();
  }

  /**
   * @param agreeing leading bytes of the source's key that equal the key copy's
   */
  private boolean settleForward(boolean skipCurrentKey, int agreeing) {
    forward = true;
    boolean decided = skipCurrentKey;
    int agree = agreeing;
    int dead = 0;
    int look = firstLook();
    while (source.isValid()) {
      if (dead == look) {
        look += GapFinder.LOOK_KEYS;
        if (leapGap()) {
          agree = 0;
          continue;
        }
      }
      if (decided && !source.keyIsNew() && current.isKeyOf(source)) {
        source.next();
        agree = Math.min(agree, source.keyShared());
        continue;
      }
      int belowAt = upperAt;
      if (agree <= belowAt) {
        belowAt = belowUpperAt();
        if (belowAt == NOT_BELOW) {
          break;
        }
      }
      if (Tag.sequence(source.tag()) > sequence) {
        source.next();
        agree = Math.min(agree, source.keyShared());
        continue;
      }
      current.putKey(source, agree);
      upperAt = belowAt;
      decided = true;
      boolean hidden = isHidden();
      if (!hidden && isShown()) {
        remember();
        if (dead > 0) {
          endRun(dead, /* found= */ true);
        }
        return true;
      }
      dead++;
      if (!hidden || !leap()) {
        source.next();
      }
      agree = source.keyShared();
    }
    endRun(dead, /* found= */ false);
    if (skipCurrentKey) {
      // No further block is entered, which would check.
      Region.requirePagesRead();
    }
    return false;
  }

  private int firstLook() {
    return gaps == null ? NEVER : GapFinder.LOOK_KEYS;
  }

  /** Skips the known gap around the source's key, if any; returns whether it did. */
  private boolean leapGap() {
    GapFinder finder = Objects.requireNonNull(gaps);
    int length = source.keyLength();
    if (length > KnownGaps.KEY_BYTES_MAX) {
      return false;
    }
    byte[] key = source.keyRegion().getBytes(source.keyOffset(), length);
    KnownGaps.Gap gap = finder.around(key, forward);
    if (gap == null) {
      return false;
    }
    if (forward) {
      source.seek(place(gap.to()), 0, gap.to().length, Tag.MAX);
    } else {
      source.seekBefore(place(gap.from()), 0, gap.from().length, Tag.MAX);
    }
    return true;
  }

  /**
   * Ends a run of dead keys; records a long one as a gap.
   *
   * @param found whether it ends at the current entry, not at the bound
   */
  private void endRun(int dead, boolean found) {
    GapFinder finder = gaps;
    if (finder == null) {
      return;
    }
    if (dead >= GapFinder.KEEP_KEYS) {
      byte[] end;
      if (found) {
        end = Arrays.copyOf(current.key, current.keyLength);
      } else {
        end = forward ? upper : lower;
      }
      finder.keep(found && !forward ? GapFinder.behind(end) : end, forward, dead);
    }
    finder.endRun(dead);
  }

  private boolean settleBackward() {
    forward = false;
    int dead = 0;
    int look = firstLook();
    while (source.isValid()) {
      if (dead == look) {
        look += GapFinder.LOOK_KEYS;
        if (leapGap()) {
          continue;
        }
      }
      if (compareWithLower() < 0) {
        break;
      }
      if (isHidden() && leap()) {
        dead++;
        continue;
      }
      // Versions come oldest first: the last one at or below our sequence number is visible.
      current.putKey(source, /* agreeing= */ 0);
      boolean present = false;
      for (; source.isValid() && current.isKeyOf(source); source.previous()) {
        if (Tag.sequence(source.tag()) <= sequence) {
          present = !isHidden() && isPresent();
          remember();
          if (source.payloadPasses()) {
            copyPayload();
          }
        }
      }
      if (present) {
        if (dead > 0) {
          endRun(dead, /* found= */ true);
        }
        return true;
      }
      dead++;
    }
    endRun(dead, /* found= */ false);
    Region.requirePagesRead();
    return false;
  }

  private boolean isHidden() {
    RangeCoverage ranges = coverage;
    return ranges != null
        && ranges.hides(
            source.keyRegion(), source.keyOffset(), source.keyLength(), Tag.sequence(source.tag()));
  }

  /**
   * Skips the deleted range around the source's key for all sources older than the range
   * tombstone's; returns false if the current entry is not from one of these.
   */
  private boolean leap() {
    RangeCoverage ranges = Objects.requireNonNull(coverage);
    if (source.currentChild() <= ranges.child()) {
      return false;
    }
    byte[] to = forward ? ranges.end() : ranges.start();
    if (!leaps.getOn(to, forward)) {
      throw source.disorder();
    }
    source.leap(ranges.child(), place(to), 0, to.length);
    return true;
  }

  private boolean isShown() {
    if (since == ALL) {
      return isPresent();
    }
    long number = Tag.sequence(source.tag());
    return number > since && !isOfRange(number);
  }

  /**
   * Whether the source's entry, which no range hides, is the placeholder of a table with only range
   * tombstones, whose key may be invalid for users. No other entry has a range tombstone's number.
   */
  private boolean isOfRange(long number) {
    RangeCoverage ranges = coverage;
    return ranges != null && ranges.newest() == number;
  }

  private boolean isPresent() {
    int kind = Tag.kind(source.tag());
    if (kind == Tag.DELETE) {
      return false;
    }
    if (!Tag.expires(kind)) {
      return true;
    }
    long at = Payload.expiresAtMillis(kind, source.payloadRegion(), source.payloadOffset());
    if (at > clock.millis()) {
      return true;
    }
    if (gaps != null) {
      gaps.passedExpired(at);
    }
    return false;
  }

  private void remember() {
    refer(source.payloadRegion());
    remember(source.payloadOffset());
  }

  private void remember(long payloadOffset) {
    current.tag = source.tag();
    current.payloadOffset = payloadOffset;
    current.payloadLength = source.payloadLength();
  }

  private void refer(Region region) {
    // It seldom changes, and writing costs more than comparing.
    if (payloadRegion != region) {
      payloadRegion = region;
    }
  }

  private void copyPayload() {
    int length = source.payloadLength();
    Region copy = passed.ensure(Math.max(1, length));
    copy.put(0, source.payloadRegion(), source.payloadOffset(), length);
    refer(copy);
    remember(/* payloadOffset= */ 0);
  }

  private int compareWithLower() {
    return source.keyRegion().compareTo(source.keyOffset(), source.keyLength(), lower);
  }

  /** Where the source's key and the upper bound differ, if the key is below it. */
  private int belowUpperAt() {
    Region region = source.keyRegion();
    long offset = source.keyOffset();
    int length = source.keyLength();
    int same = region.commonPrefix(offset, length, upper);
    boolean below =
        same < upper.length
            && (same == length || (region.getByte(offset + same) & 0xff) < (upper[same] & 0xff));
    return below ? same : NOT_BELOW;
  }

  private Region place(byte[] storedKey) {
    Region target = keyMemory.ensure(Math.max(1, storedKey.length));
    target.put(0, storedKey, 0, storedKey.length);
    return target;
  }
}
