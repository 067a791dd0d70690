package io.kvsep.internal.read;

import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.view.ReadState;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Looks up a group of keys on several threads, so that the blocks with these keys come into memory
 * side by side. What is found is dropped: the caller looks each key up again, in memory then, and
 * meets any error itself.
 *
 * <p>The caller holds the view, or is inside the epochs, until {@link #finish} has returned. A
 * thread that comes later finds nothing to do. Thread safe.
 */
final class SharedLookups {
  private final PointReader points;
  private final ReadState view;
  private final long moment;
  private final int keyspace;
  private final byte[][] keys;
  private final int end;
  private final AtomicInteger next;
  private final CountDownLatch unfinished;

  /** For the keys from {@code start} to in front of {@code end}. */
  SharedLookups(
      PointReader points,
      ReadState view,
      long moment,
      int keyspace,
      byte[][] keys,
      int start,
      int end) {
    this.points = points;
    this.view = view;
    this.moment = moment;
    this.keyspace = keyspace;
    this.keys = keys;
    this.end = end;
    this.next = new AtomicInteger(start);
    this.unfinished = new CountDownLatch(end - start);
  }

  /** Looks keys up until none is left that no thread has begun. */
  void run(ReadContext context) {
    for (int i = next.getAndIncrement(); i < end; i = next.getAndIncrement()) {
      try {
        context.setKey(keyspace, keys[i]);
        points.find(view, context, moment);
        Region.requirePagesRead();
      } catch (RuntimeException | InternalError e) {
        // The caller meets it again.
      } finally {
        unfinished.countDown();
      }
    }
  }

  /** As {@link #run}; then waits for the other threads. */
  void finish(ReadContext context) {
    run(context);
    Uninterruptibles.await(unfinished);
  }
}
