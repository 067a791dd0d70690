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
 * What a reader at one sequence number sees of an internal iterator within bounds: for each key its
 * newest version at or below that number, unless it is a tombstone, expired, or in a range that was
 * deleted later. Sources that are older than such a delete leap over its range.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>Walking forward the source stands on the current entry, or, while the walk goes over what
 *       it has {@link #ahead}, on one before it; walking back it stands before all versions of the
 *       current key, and the entry found on the way is remembered.
 *   <li>{@code current} holds a copy of the current key, so that versions of it are recognised.
 *       When the source takes a step forward it stands on that key, so that what its next key has
 *       in common with it is in the copy already.
 *   <li>A remembered payload stays readable: the regions belong to memtables that the cursor's view
 *       pins, and to the table a level's iterator stands in or the one it left last. All versions
 *       of a key in a level are in one table, and no level's iterator goes on behind the key
 *       before. Walking back, a payload that passes with the next step is copied.
 * </ol>
 *
 * Not thread safe. Owns and closes its source.
 */
final class VisibleIterator implements AutoCloseable {
  private static final long ALL = -1;

  private static final int NOT_BELOW = -1;

  /**
   * What is ahead is asked for after so many, since having it ready costs as much as some steps.
   */
  private static final int STEPS_BEFORE_AHEAD = 4;

  private static final int UNKNOWN = Integer.MAX_VALUE;

  private static final int NEVER = -1;

  private final MergingIterator source;
  private final long sequence;
  private final @Nullable RangeCoverage coverage;
  private final @Nullable GapFinder gaps;
  private final Clock clock;
  private final GrowingRegion keyCopy;
  private final GrowingRegion seekKey;
  private final GrowingRegion passed;
  private final @Nullable Region lower;
  private final int lowerLength;
  private final @Nullable Region upper;
  private final int upperLength;

  /** Changes behind this sequence number are shown, deletes too; {@link #ALL} is no such walk. */
  private long since = ALL;

  private boolean forward = true;
  private final HeapEntry current = new HeapEntry();

  /** What the current entry came from if the source does not stand on it. */
  private @Nullable EntryLookahead ahead;

  private final RangeSkipGuard leaps = new RangeSkipGuard();

  /** Steps since a jump: whoever jumps may take few. */
  private int walked;

  /**
   * Walking forward, where our copy and the upper bound differ: a key that has more bytes than that
   * in common with the copy is below the bound, too.
   */
  private int upperAt;

  /** The same for entries ahead. */
  private final @Nullable KeyLimit limit;

  private @Nullable Region payloadRegion;

  /**
   * Takes over the source, unless memory for the bounds runs out.
   *
   * @param coverage what range deletes hide, null for nothing
   * @param gaps knows where all is dead; null where that is not asked
   * @param lower first stored key that may be seen, null for none
   * @param upper first stored key that may not be seen any more, null for none
   */
  VisibleIterator(
      MergingIterator source,
      long sequence,
      @Nullable RangeCoverage coverage,
      @Nullable GapFinder gaps,
      byte @Nullable [] lower,
      byte @Nullable [] upper,
      Clock clock,
      MemoryLedger ledger) {
    this.source = source;
    this.sequence = sequence;
    this.coverage = coverage;
    this.gaps = gaps;
    this.clock = clock;
    this.keyCopy = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.seekKey = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.passed = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.lowerLength = lower == null ? 0 : lower.length;
    this.upperLength = upper == null ? 0 : upper.length;
    this.limit = upper == null ? null : new KeyLimit(upper);
    // Last, since nobody can close what could not be made.
    this.lower = copy(lower, ledger);
    try {
      this.upper = copy(upper, ledger);
    } catch (RuntimeException | Error e) {
      if (this.lower != null) {
        this.lower.free();
      }
      throw e;
    }
  }

  /**
   * From now on shows, for each key, the newest version if its number is higher than {@code
   * sequence}, also when it is a delete or has expired, unless its range was deleted later, or it
   * is what a table has in place of an entry, which nobody wrote. Forward only.
   */
  void showChangesSince(long sequence) {
    since = sequence;
  }

  boolean first() {
    jump();
    if (lower == null) {
      source.seekToFirst();
    } else {
      source.seek(lower, 0, lowerLength, Tag.MAX);
    }
    return settleForward(/* skipCurrentKey= */ false, /* agreeing= */ 0);
  }

  boolean last() {
    jump();
    if (upper == null) {
      source.seekToLast();
    } else {
      source.seekBefore(upper, 0, upperLength, Tag.MAX);
    }
    return settleBackward();
  }

  /** To the first entry at or after the stored key. */
  boolean seekAtOrAfter(byte[] storedKey) {
    Region target = place(storedKey);
    int length = storedKey.length;
    if (lower != null && Region.compare(target, 0, length, lower, 0, lowerLength) < 0) {
      return first();
    }
    jump();
    source.seek(target, 0, length, Tag.MAX);
    return settleForward(/* skipCurrentKey= */ false, /* agreeing= */ 0);
  }

  /** To the last entry at or before the stored key. */
  boolean seekAtOrBefore(byte[] storedKey) {
    Region target = place(storedKey);
    int length = storedKey.length;
    if (upper != null && Region.compare(target, 0, length, upper, 0, upperLength) >= 0) {
      return last();
    }
    jump();
    // Tag 0 sorts behind every entry of the key.
    source.seekBefore(target, 0, length, 0);
    return settleBackward();
  }

  /** To the entry after the current one; only while it stands on one. */
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
      // Out of the copy on the heap, perhaps in the hands of another thread than went into it.
      DeferredPageFaults.mayFollow();
      source.follow(current);
      ahead = null;
      upperAt = UNKNOWN;
    } else if (walked >= STEPS_BEFORE_AHEAD && coverage == null && since == ALL) {
      if (limit != null) {
        limit.differsAt = upperAt;
      }
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

  /** Somewhere else: what is ahead is no longer, and the walk begins anew. */
  private void jump() {
    forgetAhead();
    leaps.forget();
  }

  private void forgetAhead() {
    ahead = null;
    walked = 0;
  }

  /** To the entry before the current one; only while it stands on one. */
  boolean previous() {
    forgetAhead();
    if (forward) {
      source.seekBefore(keyRegion(), 0, current.keyLength, Tag.MAX);
    }
    return settleBackward();
  }

  /** As {@link MergingIterator#foresee}: entries that the source has, visible or not. */
  void foresee(PrefetchSink sink) {
    EntryLookahead entries = ahead;
    if (entries != null) {
      entries.foresee(current, sink);
    } else if (forward) {
      source.foresee(sink);
    }
  }

  /** The current key, from 0 to its length, in an array that changes with the next step. */
  byte[] key() {
    return current.key;
  }

  /** A copy of the current key. */
  Region keyRegion() {
    int length = current.keyLength;
    Region copy = keyCopy.ensure(Math.max(1, length));
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

  /** What the current entry came from if its payload is on the heap, too. */
  @Nullable EntryLookahead ahead() {
    return ahead;
  }

  /** As {@link EntryLookahead#copyPayload}. */
  int copyPayload(EntryLookahead from, byte[] target) {
    return from.copyPayload(current, target);
  }

  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    closes.run(source::close);
    closes.run(keyCopy::close);
    closes.run(seekKey::close);
    closes.run(passed::close);
    if (lower != null) {
      closes.run(lower::free);
    }
    if (upper != null) {
      closes.run(upper::free);
    }
    closes.throwFirst();
  }

  /**
   * @param agreeing how many of the first bytes of the source's key are those of our copy
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
      if (upper != null && agree <= belowAt) {
        belowAt = belowUpperAt(upper);
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
    endWalk(/* stepped= */ skipCurrentKey);
    return false;
  }

  /** After how many dead keys a move asks for a gap first. */
  private int firstLook() {
    return gaps == null ? NEVER : GapFinder.LOOK_KEYS;
  }

  /** Goes to the other end of a known gap in which the source stands; false where none is known. */
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
   * Ends a run of dead keys, and keeps the gap if it was a long one.
   *
   * @param found whether it ends at the current entry, or at the bound of the walk
   */
  private void endRun(int dead, boolean found) {
    GapFinder finder = gaps;
    if (finder == null) {
      return;
    }
    if (dead >= GapFinder.KEEP_KEYS) {
      Region bound = forward ? upper : lower;
      byte[] end = null;
      if (found) {
        end = Arrays.copyOf(current.key, current.keyLength);
      } else if (bound != null) {
        end = bound.getBytes(0, forward ? upperLength : lowerLength);
      }
      if (end != null) {
        finder.keep(found && !forward ? GapFinder.behind(end) : end, forward, dead);
      }
    }
    finder.endRun(dead);
  }

  /** Nobody enters another block, where it would show that this one could not be read. */
  private void endWalk(boolean stepped) {
    if (stepped) {
      Region.requirePagesRead();
    }
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
      if (lower != null && compareWith(lower, lowerLength) < 0) {
        break;
      }
      if (isHidden() && leap()) {
        dead++;
        continue;
      }
      // Versions come oldest first: the last one not beyond our sequence number decides the key.
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
    endWalk(/* stepped= */ true);
    return false;
  }

  /** Whether the source's entry is older than a delete of its range. */
  private boolean isHidden() {
    RangeCoverage ranges = coverage;
    return ranges != null
        && ranges.hides(
            source.keyRegion(), source.keyOffset(), source.keyLength(), Tag.sequence(source.tag()));
  }

  /**
   * Moves over the deleted range in which the source stands. Whatever lies behind the source of the
   * delete in age has nothing but deleted entries there; false when the current entry lies before.
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
   * Whether the source's entry, which no range hides, is the tombstone that a table of deleted
   * ranges alone has been given: it says nothing that the range does not, and its key may be none
   * that a user can have. No other entry has the number of a range.
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
    // It seldom is another one, and writing a reference costs more than looking at it.
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

  private int compareWith(Region other, int otherLength) {
    return Region.compare(
        source.keyRegion(), source.keyOffset(), source.keyLength(), other, 0, otherLength);
  }

  /** Where the source's key and the upper bound differ, if the key is below it. */
  private int belowUpperAt(Region upper) {
    Region region = source.keyRegion();
    long offset = source.keyOffset();
    int length = source.keyLength();
    int same = Region.commonPrefix(region, offset, length, upper, 0, upperLength);
    boolean below =
        same < upperLength
            && (same == length
                || (region.getByte(offset + same) & 0xff) < (upper.getByte(same) & 0xff));
    return below ? same : NOT_BELOW;
  }

  private Region place(byte[] storedKey) {
    Region target = seekKey.ensure(Math.max(1, storedKey.length));
    target.put(0, storedKey, 0, storedKey.length);
    return target;
  }

  private static @Nullable Region copy(byte @Nullable [] bytes, MemoryLedger ledger) {
    if (bytes == null) {
      return null;
    }
    Region region = ledger.allocate(MemoryPurpose.READ, Math.max(1, bytes.length));
    region.put(0, bytes, 0, bytes.length);
    return region;
  }
}
