package io.kvsep.internal.txn;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.vlog.RecordSource;
import io.kvsep.internal.write.BatchWrites;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The writes of a transaction on the heap, by stored key: the last write of each key, and merged
 * deleted ranges. A range delete removes the writes it covers, so applying first the ranges and
 * then the keys equals applying all writes in order.
 *
 * <p>The size limit is that of a framed batch; a write beyond it changes nothing. Keys are copied,
 * values are not. Not thread safe, except for the immutable result of {@link #view}.
 */
public final class TransactionWrites {
  private final long bytesMax;
  private final Set<Integer> keyspaces = new HashSet<>();
  private WritesSnapshot view = WritesSnapshot.EMPTY;

  public TransactionWrites() {
    this(Limits.BATCH_BYTES_MAX);
  }

  TransactionWrites(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  public WritesSnapshot view() {
    return view;
  }

  public boolean isEmpty() {
    return view.isEmpty();
  }

  /** The time to live is as in {@link TransactionWrite#timeToLiveMillis}. */
  public void put(int keyspace, byte[] key, byte[] value, long timeToLiveMillis) {
    TransactionWrite write = new TransactionWrite(value, timeToLiveMillis);
    add(keyspace, key, write, (long) key.length + value.length);
  }

  public void delete(int keyspace, byte[] key) {
    add(keyspace, key, TransactionWrite.DELETE, key.length);
  }

  /** An empty or reversed range deletes nothing. */
  public void deleteRange(int keyspace, byte[] from, byte[] to) {
    if (Arrays.compareUnsigned(from, to) >= 0) {
      return;
    }
    byte[] start = Keyspaces.storedKey(keyspace, from);
    byte[] end = Keyspaces.storedKey(keyspace, to);
    OrderedTree<TransactionWrite> points = view.points().without(start, end);
    OrderedTree<byte[]> ranges = view.ranges();
    OrderedTree.Node<byte[]> before = ranges.floor(start);
    if (before != null && Arrays.compareUnsigned(before.value, start) >= 0) {
      start = before.key;
    }
    OrderedTree.Node<byte[]> last = ranges.floor(end);
    if (last != null && Arrays.compareUnsigned(last.value, end) > 0) {
      end = last.value;
    }
    ranges = ranges.without(start, end);
    int prefix = Keyspaces.prefixLength(keyspace);
    ranges = ranges.with(start, end, (long) start.length + end.length - 2L * prefix);
    replace(keyspace, new WritesSnapshot(points, ranges));
  }

  /** Forgets all writes; views taken before do not change. */
  void clear() {
    keyspaces.clear();
    view = WritesSnapshot.EMPTY;
  }

  /** The keyspaces written to, except the default one, which always exists. */
  public Set<Integer> keyspaces() {
    return keyspaces;
  }

  /** Times to live count from {@code nowMillis}. */
  public RecordSource records(long nowMillis) {
    return new Records(view, nowMillis);
  }

  private void add(int keyspace, byte[] key, TransactionWrite write, long weight) {
    byte[] stored = Keyspaces.storedKey(keyspace, key);
    replace(keyspace, new WritesSnapshot(view.points().with(stored, write, weight), view.ranges()));
  }

  private void replace(int keyspace, WritesSnapshot next) {
    long framed = next.payloadBytes() + (long) next.count() * BatchWrites.RECORD_OVERHEAD_BYTES;
    if (next.count() > 1 && framed > bytesMax) {
      throw new LimitExceededException(
          "the uncommitted writes would have " + framed + " bytes, the limit is " + bytesMax);
    }
    // If this throws for lack of memory, nothing has changed.
    if (keyspace != Keyspaces.DEFAULT) {
      keyspaces.add(keyspace);
    }
    view = next;
  }

  private static final class Records extends RecordSource {
    private final WritesSnapshot writes;
    private final long nowMillis;
    private OrderedTree.Walk<byte[]> ranges;
    private OrderedTree.Walk<TransactionWrite> points;

    Records(WritesSnapshot writes, long nowMillis) {
      this.writes = writes;
      this.nowMillis = nowMillis;
      this.ranges = writes.ranges().walk();
      this.points = writes.points().walk();
    }

    @Override
    public void rewind() {
      ranges = writes.ranges().walk();
      points = writes.points().walk();
    }

    @Override
    public boolean next() {
      OrderedTree.Node<byte[]> range = ranges.next();
      if (range != null) {
        set(range.key, Tag.RANGE_DELETE, range.value, 0);
        return true;
      }
      OrderedTree.Node<TransactionWrite> point = points.next();
      if (point == null) {
        return false;
      }
      TransactionWrite write = point.value;
      if (write.isDelete()) {
        set(point.key, Tag.DELETE, null, 0);
      } else if (write.timeToLiveMillis() != 0) {
        set(point.key, Tag.PUT | Tag.EXPIRES, write.value(), write.expiresAtMillis(nowMillis));
      } else {
        set(point.key, Tag.PUT, write.value(), 0);
      }
      return true;
    }

    private void set(byte[] stored, int recordKind, byte @Nullable [] newValue, long expiry) {
      keyspace = Keyspaces.of(stored);
      kind = recordKind;
      key = stored;
      keyOffset = Keyspaces.prefixLength(keyspace);
      keyLength = stored.length - keyOffset;
      value = newValue;
      valueOffset = 0;
      valueLength = newValue == null ? 0 : newValue.length;
      expiresAtMillis = expiry;
    }

    @Override
    public int recordCount() {
      return writes.count();
    }

    @Override
    public long payloadBytes() {
      return writes.payloadBytes();
    }
  }
}
