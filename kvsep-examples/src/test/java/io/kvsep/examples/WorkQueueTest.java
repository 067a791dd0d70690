package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WorkQueueTest {
  @TempDir Path directory;

  @Test
  void jobsComeInOrderUntilTheyAreDoneAlsoAfterARestart() {
    int added = 0;
    int done = 0;
    for (int restart = 0; restart < 3; restart++) {
      try (KvStore store = KvStore.open(directory)) {
        WorkQueue queue = new WorkQueue(store);
        for (int i = 0; i < 9; i++) {
          queue.add(jobs(added, 100));
          added += 100;
          assertEquals(texts(jobs(done, 95)), texts(queue.take(95)));
          assertEquals(texts(jobs(done, 2)), texts(queue.take(2)));
          queue.done(95);
          done += 95;
        }
        assertEquals(added - done, queue.take(10_000).size());
      }
    }
  }

  @Test
  void theOrderLastsWhenAllJobsWereDoneBeforeARestart() {
    for (int restart = 0; restart < 3; restart++) {
      try (KvStore store = KvStore.open(directory)) {
        WorkQueue queue = new WorkQueue(store);
        assertEquals(List.of(), queue.take(10));
        queue.add(jobs(restart, 1_000));
        assertEquals(texts(jobs(restart, 1_000)), texts(queue.take(2_000)));
        assertThrows(IllegalArgumentException.class, () -> queue.done(1_001));
        queue.done(1_000);
        assertEquals(
            0, store.in(store.keyspace("jobs")).stream(ScanOptions.all()).count(), "jobs stored");
      }
    }
  }

  @Test
  void noJobOfConcurrentProducersIsLost() throws InterruptedException {
    try (KvStore store = KvStore.inMemory()) {
      WorkQueue queue = new WorkQueue(store);
      List<Thread> producers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        int first = i * 1_000;
        producers.add(
            new Thread(
                () -> IntStream.range(0, 100).forEach(j -> queue.add(jobs(first + j * 10, 10)))));
      }
      producers.forEach(Thread::start);
      List<String> taken = new ArrayList<>();
      while (taken.size() < 4_000) {
        List<byte[]> some = queue.take(100);
        taken.addAll(texts(some));
        queue.done(some.size());
      }
      for (Thread producer : producers) {
        producer.join();
      }
      taken.sort(null);
      assertEquals(texts(jobs(0, 4_000)).stream().sorted().toList(), taken);
    }
  }

  @Test
  void theProgramRuns() {
    String[] arguments = {directory.toString()};

    assertEquals("wash\ndry\nleft: 1\n", Printed.by(() -> WorkQueue.main(arguments)));
    assertEquals("fold\nwash\nleft: 2\n", Printed.by(() -> WorkQueue.main(arguments)));
  }

  private static List<byte[]> jobs(int first, int count) {
    return IntStream.range(first, first + count)
        .mapToObj(i -> ("job " + i).getBytes(UTF_8))
        .toList();
  }

  private static List<String> texts(List<byte[]> jobs) {
    return jobs.stream().map(job -> new String(job, UTF_8)).toList();
  }
}
