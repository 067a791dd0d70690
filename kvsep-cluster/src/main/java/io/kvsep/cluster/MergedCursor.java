package io.kvsep.cluster;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The entries of all shards in the order of their keys. A key is in one shard alone, so while the
 * cursor moves forward, each other part is at its first entry behind it, and else at its last entry
 * before it.
 */
final class MergedCursor implements KvCursor {
  private final List<Part> parts = new ArrayList<>();
  private final boolean isReverse;
  private final long limit;

  /** Where the cursor is, null past either end. */
  private @Nullable Part current;

  /** Entries from the start of the iteration, which the limit counts. */
  private long place;

  private boolean hasBegun;
  private boolean isForward;

  /** Whether a move has begun and not ended: an error may have moved some parts alone. */
  private boolean isMoving;

  /** Whether the limit has put the cursor behind {@link #current}. */
  private boolean isCut;

  /** A shard's cursor, and the key where it is. */
  private static final class Part {
    final KvCursor cursor;
    byte @Nullable [] key;

    Part(KvCursor cursor) {
      this.cursor = cursor;
    }

    void move(Predicate<KvCursor> step) {
      key = step.test(cursor) ? cursor.key() : null;
    }
  }

  private MergedCursor(ScanOptions options) {
    isReverse = options.isReverse();
    limit = options.limit();
  }

  static KvCursor of(List<? extends KvReader> shards, ScanOptions options) {
    MergedCursor merged = new MergedCursor(options);
    try {
      for (KvReader shard : shards) {
        merged.parts.add(new Part(shard.cursor(options.limit(Long.MAX_VALUE))));
      }
      return merged;
    } catch (RuntimeException | Error e) {
      merged.close();
      throw e;
    }
  }

  @Override
  public boolean next() {
    requirePlace();
    if (isCut || limit == 0 || isPast(/* forward= */ true)) {
      return false;
    }
    if (hasBegun && place + 1 >= limit) {
      isCut = true;
      return false;
    }
    place = hasBegun ? place + 1 : 0;
    step(/* forward= */ true);
    return current != null;
  }

  @Override
  public boolean previous() {
    requirePlace();
    if (isCut) {
      isCut = false;
      return current != null;
    }
    if (limit == 0 || isPast(/* forward= */ false)) {
      return false;
    }
    place = hasBegun ? place - 1 : 0;
    step(/* forward= */ false);
    return current != null;
  }

  private boolean isPast(boolean forward) {
    return hasBegun && current == null && isForward == forward;
  }

  private void beginMove() {
    current = null;
    isMoving = true;
  }

  private void requirePlace() {
    if (isMoving) {
      throw new IllegalStateException("the last move has failed: seek a key");
    }
  }

  private void step(boolean forward) {
    Predicate<KvCursor> move = forward ? KvCursor::next : KvCursor::previous;
    Part last = current;
    beginMove();
    if (!hasBegun || isForward != forward) {
      parts.forEach(part -> part.move(move));
    } else if (last != null) {
      last.move(move);
    }
    hasBegun = true;
    isForward = forward;
    current = nearest();
    isMoving = false;
  }

  @Override
  public boolean seek(byte[] key) {
    return seek(cursor -> cursor.seek(key), /* forward= */ true);
  }

  @Override
  public boolean seekFloor(byte[] key) {
    return seek(cursor -> cursor.seekFloor(key), /* forward= */ false);
  }

  private boolean seek(Predicate<KvCursor> move, boolean forward) {
    beginMove();
    parts.forEach(part -> part.move(move));
    hasBegun = true;
    isForward = forward;
    isCut = false;
    isMoving = false;
    current = limit == 0 ? null : nearest();
    place = current == null && !forward ? -1 : 0;
    return current != null;
  }

  /** The part that comes next in the direction of the last move, null if none has an entry. */
  private @Nullable Part nearest() {
    Part nearest = null;
    byte[] first = null;
    for (Part part : parts) {
      byte[] key = part.key;
      if (key != null
          && (first == null
              || Arrays.compareUnsigned(key, first) < 0 == (isForward != isReverse))) {
        nearest = part;
        first = key;
      }
    }
    return nearest;
  }

  @Override
  public boolean isValid() {
    return current != null && !isCut;
  }

  private KvCursor cursor() {
    if (current == null || isCut) {
      throw new IllegalStateException("the cursor is not on an entry");
    }
    return current.cursor;
  }

  @Override
  public byte[] key() {
    return cursor().key();
  }

  @Override
  public byte[] value() {
    return cursor().value();
  }

  @Override
  public ByteBuffer keyView() {
    return cursor().keyView();
  }

  @Override
  public ByteBuffer valueView() {
    return cursor().valueView();
  }

  @Override
  public int valueLength() {
    return cursor().valueLength();
  }

  @Override
  public OptionalLong expiresAtMillis() {
    return cursor().expiresAtMillis();
  }

  @Override
  public void close() {
    RuntimeException failure = null;
    for (Part part : parts) {
      try {
        part.cursor.close();
      } catch (RuntimeException e) {
        failure = failure == null ? e : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
