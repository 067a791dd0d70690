package io.kvsep.internal.read;

import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.view.ReadState;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Looks up keys on several threads, to read their blocks into memory in parallel. Results are
 * discarded: the caller looks each key up again and gets any error.
 *
 * <p>The caller retains the read state or is inside the epochs until {@link #finish} returns; later
 * threads find no work. Thread safe.
 */
final class SharedLookups {
  private final PointReader points;
  private final ReadState readState;
  private final long moment;
  private final int keyspace;
  private final byte[][] keys;
  private final int end;
  private final AtomicInteger next;
  private final CountDownLatch unfinished;

  /** Takes the keys from {@code start} to before {@code end}. */
  SharedLookups(
      PointReader points,
      ReadState readState,
      long moment,
      int keyspace,
      byte[][] keys,
      int start,
      int end) {
    this.points = points;
    this.readState = readState;
    this.moment = moment;
    this.keyspace = keyspace;
    this.keys = keys;
    this.end = end;
    this.next = new AtomicInteger(start);
    this.unfinished = new CountDownLatch(end - start);
  }

  /** Looks up keys until all have been started. */
  void run(ReadContext context) {
    for (int i = next.getAndIncrement(); i < end; i = next.getAndIncrement()) {
      try {
        context.setKey(keyspace, keys[i]);
        points.find(readState, context, moment);
        Region.requirePagesRead();
      } catch (RuntimeException | InternalError e) {
        // The caller gets the same error.
      } finally {
        unfinished.countDown();
      }
    }
  }

  /** As {@link #run}, then waits for the other threads. */
  void finish(ReadContext context) {
    run(context);
    Uninterruptibles.await(unfinished);
  }
}
