package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.ScratchBudget;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.testing.Seeds;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The same as a queue of the library, with requests that come back after they were taken out. */
final class WriteQueueTest {
  private static final int REQUESTS = 40;

  @Test
  void writesLeaveInTheOrderInWhichTheyCame() {
    Seeds.each(WriteQueueTest.class, 20, WriteQueueTest::run);
  }

  private static void run(Random random) {
    List<WriteRequest> idle = new ArrayList<>();
    for (int i = 0; i < REQUESTS; i++) {
      idle.add(request());
    }
    WriteQueue queue = new WriteQueue();
    Queue<WriteRequest> model = new ArrayDeque<>();
    boolean filling = true;
    for (int step = 0; step < 2_000; step++) {
      if (random.nextInt(100) == 0) {
        filling = !filling;
      }
      boolean adds = random.nextInt(4) == 0 ? !filling : filling;
      if (adds && !idle.isEmpty()) {
        WriteRequest next = idle.remove(random.nextInt(idle.size()));
        queue.add(next);
        model.add(next);
      } else {
        WriteRequest first = model.poll();
        assertSame(first, queue.poll());
        if (first != null) {
          idle.add(first);
        }
      }
      assertSame(model.peek(), queue.peek());
    }
    while (!model.isEmpty()) {
      assertSame(model.poll(), queue.poll());
    }
    assertNull(queue.peek());
    assertNull(queue.poll());
  }

  private static WriteRequest request() {
    return new WriteRequest(
        new MemoryLedger(),
        new ScratchBudget(1, 1, 1).newShare(),
        new Frame.Encoding(64, Integer.MAX_VALUE));
  }
}
