package io.kvsep.cluster.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.cluster.check.Call.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HistoryTest {
  @TempDir Path directory;

  private final AtomicLong now = new AtomicLong();
  private final History history = new History(now::incrementAndGet);

  @Test
  void aCallIsUnknownUntilItsOutcomeIsTold() {
    History.Begun put = history.put(1, "k", "v");
    assertEquals("1 1 - PUT k - v UNKNOWN\n", History.text(history.calls()));
    put.done();
    assertEquals("1 1 2 PUT k - v DONE\n", History.text(history.calls()));
    assertThrows(IllegalStateException.class, put::failed);
  }

  @Test
  void allKindsAndOutcomesAreALineOfTextThatIsReadBack() {
    history.get(1, "k").found(null);
    history.get(1, "k").found("v");
    history.put(2, "k", "v").done();
    history.put(2, "k", "v").failed();
    history.delete(3, "k").done();
    history.compareAndSet(4, "k", null, "v").wasMet(true);
    history.compareAndSet(4, "k", "v", null).wasMet(false);
    history.compareAndSet(5, "k", "v", "w");
    String expected =
        """
        1 1 2 GET k - - DONE
        1 3 4 GET k - v DONE
        2 5 6 PUT k - v DONE
        2 7 8 PUT k - v FAILED
        3 9 10 DELETE k - - DONE
        4 11 12 CAS k - v DONE
        4 13 14 CAS k v - REFUSED
        5 15 - CAS k v w UNKNOWN
        """;
    assertEquals(expected, History.text(history.calls()));
    assertEquals(history.calls(), History.parse("# title\n\n" + expected));
  }

  @Test
  void whatIsNoCallIsRefused() {
    for (String line :
        List.of(
            "1 1 2 GET k - -",
            "1 1 2 GET k - - DONE ",
            "1 2 1 GET k - - DONE",
            "1 1 2 GET k - - REFUSED",
            "1 1 2 GET k - - UNKNOWN",
            "1 1 - GET k - - DONE",
            "1 1 2 GET - - - DONE",
            "1 1 2 READ k - - DONE")) {
      assertThrows(IllegalArgumentException.class, () -> Call.parse(line), line);
    }
    assertThrows(IllegalArgumentException.class, () -> history.put(1, "k", "two words"));
    assertThrows(IllegalArgumentException.class, () -> history.put(1, "k", "-"));
  }

  @Test
  void threadsRecordAtOnce() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int client = 0; client < 4; client++) {
      int number = client;
      threads.add(
          new Thread(
              () -> {
                for (int i = 0; i < 500; i++) {
                  history.put(number, "k" + number, "v" + i).done();
                }
              }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    List<Call> calls = history.calls();
    assertEquals(2_000, calls.size());
    assertTrue(calls.stream().allMatch(call -> call.outcome() == Outcome.DONE));
    History.requireLinearizable(calls, "threads", directory);
  }

  @Test
  void aViolationNamesAFileThatShowsItAgain() throws Exception {
    history.put(1, "k", "v").done();
    history.get(1, "k").found(null);
    AssertionError failure =
        assertThrows(
            AssertionError.class,
            () -> History.requireLinearizable(history.calls(), "seed 7", directory));
    String message = String.valueOf(failure.getMessage());
    assertTrue(message.startsWith("seed 7: key k is not linearizable"), message);
    Path file = Path.of(message.substring(message.lastIndexOf(": ") + 2));
    List<Call> read = History.parse(Files.readString(file));
    assertEquals(history.calls(), read);
    assertThrows(AssertionError.class, () -> History.requireLinearizable(read, "again", directory));
  }
}
