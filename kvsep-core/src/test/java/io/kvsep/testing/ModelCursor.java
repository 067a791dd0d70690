package io.kvsep.testing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.testing.ModelState.Cell;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A cursor in step with an index into the entries that it has to show. What kind of cursor it is,
 * and what is checked of an entry, is left to others. Not thread safe.
 */
public abstract class ModelCursor implements AutoCloseable {
  /** The calls of a cursor that every kind of cursor has. */
  public record Calls(
      BooleanSupplier next,
      BooleanSupplier previous,
      Predicate<byte[]> seek,
      Predicate<byte[]> seekFloor,
      BooleanSupplier isValid,
      Supplier<byte[]> key,
      Runnable close) {}

  private final Calls calls;
  private final List<Map.Entry<byte[], Cell>> expected;
  private final boolean reverse;
  private final long limit;
  private int index = -1;

  /** Behind the last entry that {@code next} may find. */
  private int end;

  private boolean fresh = true;

  /** The expected entries come in the cursor's order, all of them whatever its limit is. */
  protected ModelCursor(
      Calls calls, List<Map.Entry<byte[], Cell>> expected, boolean reverse, long limit) {
    this.calls = calls;
    this.expected = limit == 0 ? List.of() : expected;
    this.reverse = reverse;
    this.limit = limit;
    beginAt(0);
  }

  /** Throws when the cursor, which stands on an entry of this key, shows anything else of it. */
  protected abstract void checkEntry(byte[] key, Cell cell);

  /** Moves that take it from a new cursor's place past the end. */
  public final int length() {
    return end + 1;
  }

  @Override
  public final void close() {
    calls.close().run();
  }

  public final void forward() {
    index = Math.min(end, index + 1);
    check(calls.next().getAsBoolean());
  }

  public final void anywhere(Random random, Supplier<byte[]> keys) {
    int move = random.nextInt(6);
    if (move <= 2) {
      forward();
    } else if (move <= 4) {
      if (fresh) {
        index = expected.size() - 1;
        beginAt(index);
      } else {
        index = Math.max(-1, index - 1);
      }
      check(calls.previous().getAsBoolean());
    } else if (random.nextBoolean()) {
      byte[] target = keys.get();
      index = ceiling(target);
      beginAt(index);
      check(calls.seek().test(target));
    } else {
      byte[] target = keys.get();
      index = floor(target);
      beginAt(Math.max(0, index));
      check(calls.seekFloor().test(target));
    }
  }

  /** The entries that the limit allows are counted from here. */
  private void beginAt(int first) {
    end = first + (int) Math.min(limit, expected.size() - first);
  }

  private void check(boolean moved) {
    fresh = false;
    boolean valid = index >= 0 && index < end;
    assertEquals(valid, moved);
    assertEquals(valid, calls.isValid().getAsBoolean());
    if (valid) {
      byte[] key = expected.get(index).getKey();
      assertArrayEquals(key, calls.key().get());
      checkEntry(key, expected.get(index).getValue());
    } else {
      assertThrows(IllegalStateException.class, () -> calls.key().get());
    }
  }

  /** Index of the first entry at or after the target in the cursor's order. */
  private int ceiling(byte[] target) {
    for (int i = 0; i < expected.size(); i++) {
      if (order(i, target) >= 0) {
        return i;
      }
    }
    return expected.size();
  }

  /** Index of the last entry at or before the target in the cursor's order. */
  private int floor(byte[] target) {
    int found = -1;
    for (int i = 0; i < expected.size(); i++) {
      if (order(i, target) <= 0) {
        found = i;
      }
    }
    return found;
  }

  private int order(int entry, byte[] target) {
    int order = Arrays.compareUnsigned(expected.get(entry).getKey(), target);
    return reverse ? -order : order;
  }
}
