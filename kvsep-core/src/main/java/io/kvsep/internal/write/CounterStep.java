package io.kvsep.internal.write;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.vlog.Frame;

/**
 * Adds to a counter on the commit leader, so that concurrent increments are neither lost nor
 * retried.
 */
final class CounterStep implements CommitCondition {
  private final StoreReads reads;
  private final int keyspace;
  private final byte[] key;
  private final long delta;
  private long sum;

  CounterStep(StoreReads reads, int keyspace, byte[] key, long delta) {
    this.reads = reads;
    this.keyspace = keyspace;
    this.key = key;
    this.delta = delta;
  }

  @Override
  public boolean holds(WriteRequest request) {
    long count = Counters.read(reads, keyspace, key);
    sum = Counters.add(count, delta);
    encode(request, sum);
    return true;
  }

  void encode(WriteRequest request, long count) {
    request.single.set(keyspace, Tag.PUT, key, Counters.value(count), 0);
    long longest = Frame.lengthMax(request.single.payloadBytes(), 1);
    request.frame.encode(request.single, /* inMemory= */ request.fits(longest));
  }

  long sum() {
    return sum;
  }
}
