package io.kvsep.internal.txn;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.read.RangeSize;
import io.kvsep.internal.read.ScanBounds;
import java.util.Arrays;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Uncommitted writes at one time. Immutable. */
public final class WritesSnapshot {
  static final WritesSnapshot EMPTY = new WritesSnapshot(OrderedTree.empty(), OrderedTree.empty());

  private final OrderedTree<TransactionWrite> points;

  /**
   * From the first stored key of each deleted range to the first key after it. Ranges neither
   * overlap nor touch.
   */
  private final OrderedTree<byte[]> ranges;

  WritesSnapshot(OrderedTree<TransactionWrite> points, OrderedTree<byte[]> ranges) {
    this.points = points;
    this.ranges = ranges;
  }

  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Range(byte[] from, byte[] to) {}

  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record OwnPut(byte[] key, TransactionWrite write) {}

  public boolean isEmpty() {
    return points.isEmpty() && ranges.isEmpty();
  }

  int count() {
    return points.count() + ranges.count();
  }

  long payloadBytes() {
    return points.bytes() + ranges.bytes();
  }

  OrderedTree<TransactionWrite> points() {
    return points;
  }

  OrderedTree<byte[]> ranges() {
    return ranges;
  }

  /** Null if no own write determines the key's value. */
  public @Nullable TransactionWrite find(byte[] storedKey) {
    OrderedTree.Node<TransactionWrite> found = points.get(storedKey);
    if (found != null) {
      return found.value;
    }
    return rangeAround(storedKey) == null ? null : TransactionWrite.DELETE;
  }

  /** Ignores deleted ranges. */
  public boolean hasPoint(byte[] storedKey) {
    return points.get(storedKey) != null;
  }

  /** The deleted range that contains the key. */
  public @Nullable Range rangeAround(byte[] storedKey) {
    OrderedTree.Node<byte[]> found = ranges.floor(storedKey);
    return found != null && Arrays.compareUnsigned(storedKey, found.value) < 0
        ? new Range(found.key, found.value)
        : null;
  }

  /**
   * The first present put after a key, or at it if {@code inclusive}.
   *
   * @param to exclusive bound
   */
  public @Nullable OwnPut putAfter(
      byte[] storedKey, boolean inclusive, byte[] to, LongSupplier now) {
    OrderedTree.Node<TransactionWrite> found =
        inclusive ? points.ceiling(storedKey) : points.higher(storedKey);
    while (found != null && Arrays.compareUnsigned(found.key, to) < 0) {
      if (!found.value.isAbsent(now)) {
        return new OwnPut(found.key, found.value);
      }
      found = points.higher(found.key);
    }
    return null;
  }

  /**
   * The last present put before a key, or at it if {@code inclusive}.
   *
   * @param from inclusive bound
   */
  public @Nullable OwnPut putBefore(
      byte[] storedKey, boolean inclusive, byte[] from, LongSupplier now) {
    OrderedTree.Node<TransactionWrite> found =
        inclusive ? points.floor(storedKey) : points.lower(storedKey);
    while (found != null && Arrays.compareUnsigned(found.key, from) >= 0) {
      if (!found.value.isAbsent(now)) {
        return new OwnPut(found.key, found.value);
      }
      found = points.lower(found.key);
    }
    return null;
  }

  /** Adds the puts and deletes within the bounds; deleted ranges are left out. */
  RangeSize addTo(RangeSize size, ScanBounds bounds) {
    byte[] upper = bounds.upper();
    int prefixLength = Keyspaces.prefixLength(bounds.keyspace());
    long entries = 0;
    long keyBytes = 0;
    long indexBytes = 0;
    OrderedTree.Node<TransactionWrite> found = points.ceiling(bounds.lower());
    while (found != null && Arrays.compareUnsigned(found.key, upper) < 0) {
      int keyLength = found.key.length - prefixLength;
      if (found.value.isDelete()) {
        entries--;
        keyBytes -= keyLength;
      } else {
        entries++;
        keyBytes += keyLength;
        indexBytes += keyLength + found.value.value().length;
      }
      found = points.higher(found.key);
    }
    return size.plus(entries, keyBytes, indexBytes);
  }
}
