package io.kvsep.cluster;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A cursor that notes the range between the outermost places where it was: what it found there, and
 * that nothing else lies between. A move past the end of the scan covers the scan up to there.
 */
final class TrackingCursor extends ReaderCursor {
  private final @Nullable String keyspace;
  private final ScanOptions options;

  private boolean moved;

  /** Inclusive; null if the scan has no start and the cursor was before its first entry. */
  private byte @Nullable [] low;

  /** Exclusive; null if the scan has no end and the cursor was past its last entry. */
  private byte @Nullable [] high;

  /** Place in the iteration that the limit counts, or before it. */
  private long steps;

  TrackingCursor(KvCursor cursor, long readMillis, @Nullable String keyspace, ScanOptions options) {
    super(cursor, readMillis);
    this.keyspace = keyspace;
    this.options = options;
  }

  /** The range, or null if nothing was read. */
  Recorder.@Nullable Range covered() {
    return moved ? new Recorder.Range(keyspace, low, high) : null;
  }

  @Override
  public boolean next() {
    return step(super.next(), /* forward= */ true);
  }

  @Override
  public boolean previous() {
    return step(super.previous(), /* forward= */ false);
  }

  @Override
  public boolean seek(byte[] key) {
    return sought(key, super.seek(key));
  }

  @Override
  public boolean seekFloor(byte[] key) {
    return sought(key, super.seekFloor(key));
  }

  private boolean step(boolean found, boolean forward) {
    boolean ascends = forward != options.isReverse();
    if (!moved) {
      // A new cursor stands before the end at which it starts.
      if (ascends) {
        low = options.from();
        high = options.from() == null ? new byte[0] : options.from();
      } else {
        low = options.to();
        high = options.to();
      }
      moved = true;
      if (!ascends && options.to() == null) {
        // Nothing is above; the entry that was found, if any, is the lower bound.
        low = found ? key() : options.from();
        steps++;
        return found;
      }
    }
    steps -= forward ? 0 : 1;
    if (found) {
      steps += forward ? 1 : 0;
      touch(key());
    } else if (!forward || steps < options.limit()) {
      touchEnd(ascends);
    }
    return found;
  }

  private boolean sought(byte[] key, boolean found) {
    if (!moved) {
      low = key.clone();
      high = low;
      moved = true;
    }
    steps = found ? 1 : 0;
    touch(key);
    if (found) {
      touch(key());
    } else {
      touchEnd(true);
      touchEnd(false);
    }
    return found;
  }

  private void touch(byte[] key) {
    if (low != null && Arrays.compareUnsigned(key, low) < 0) {
      low = key.clone();
    }
    if (high != null && Arrays.compareUnsigned(high, key) <= 0) {
      // The smallest key after it.
      high = Arrays.copyOf(key, key.length + 1);
    }
  }

  private void touchEnd(boolean upper) {
    if (upper) {
      byte[] to = options.to();
      high = to == null ? null : high == null || larger(high, to) ? high : to;
    } else {
      byte[] from = options.from();
      low = from == null ? null : low == null || larger(from, low) ? low : from;
    }
  }

  private static boolean larger(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b) > 0;
  }
}
