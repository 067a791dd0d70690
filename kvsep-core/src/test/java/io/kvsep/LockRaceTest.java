package io.kvsep;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreLockedException;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.Sample;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Processes, and threads of one, that open the same directory at the same moment, with a store in
 * it or none: one gets it, the others are told that it is locked, and what each of the winners
 * wrote is there in the end.
 */
final class LockRaceTest {
  private static final int ROUNDS = Sample.LONG ? 2_000 : 16;
  private static final int PROCESSES = 2;
  private static final int THREADS = 3;

  /** Every so many rounds there is no store yet. */
  private static final int ROUNDS_PER_STORE = 4;

  @TempDir Path parent;

  private final List<Racer> racers = new ArrayList<>();

  @AfterEach
  void end() throws Exception {
    for (Racer racer : racers) {
      racer.process.destroyForcibly();
      racer.process.waitFor(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void oneOfTheProcessesGetsTheStore() throws Exception {
    startRacers("honest");
    for (int round = 0; round < ROUNDS; round++) {
      List<String> answers = race(round);
      assertEquals(1, Collections.frequency(answers, "open"), answers::toString);
      assertEquals(PROCESSES - 1, Collections.frequency(answers, "locked"), answers::toString);
      release();
      if (round % ROUNDS_PER_STORE == ROUNDS_PER_STORE - 1) {
        requireAllRounds(round / ROUNDS_PER_STORE);
      }
    }
  }

  @Test
  void canaryALockThatLiesIsNoticed() throws Exception {
    startRacers("lying");
    // The store is there, so that none is in the middle of making it.
    KvStore.open(directory(0)).close();
    List<String> answers = race(0);
    assertEquals(0, Collections.frequency(answers, "locked"), answers::toString);
  }

  @Test
  void oneOfTheThreadsGetsTheStore() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      Path directory = parent.resolve("threads-" + round / ROUNDS_PER_STORE);
      CyclicBarrier start = new CyclicBarrier(THREADS);
      List<Object> results = Collections.synchronizedList(new ArrayList<>());
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Path path = i == 0 ? directory : directory.resolve("..").resolve(directory.getFileName());
        threads.add(
            new Thread(
                () -> {
                  try {
                    start.await();
                    results.add(KvStore.open(path));
                  } catch (Throwable e) {
                    results.add(e);
                  }
                }));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
      List<Object> open = results.stream().filter(result -> result instanceof KvStore).toList();
      long locked = results.stream().filter(r -> r instanceof StoreLockedException).count();
      assertEquals(1, open.size(), results::toString);
      assertEquals(THREADS - 1, locked, results::toString);
      try (KvStore store = (KvStore) open.get(0)) {
        store.put(key(round), key(round));
        assertThrows(StoreLockedException.class, () -> KvStore.open(directory));
      }
    }
    requireAll(parent.resolve("threads-0"), 0);
  }

  private Path directory(int round) {
    return parent.resolve("store-" + round / ROUNDS_PER_STORE);
  }

  private void startRacers(String lock) throws Exception {
    for (int i = 0; i < PROCESSES; i++) {
      Racer racer = new Racer(lock);
      racers.add(racer);
      assertEquals("ready", racer.answer());
    }
  }

  /** Lets all open at once; what each says. */
  private List<String> race(int round) throws IOException {
    for (Racer racer : racers) {
      racer.say(round + " " + directory(round));
    }
    List<String> answers = new ArrayList<>();
    for (Racer racer : racers) {
      answers.add(racer.answer());
    }
    return answers;
  }

  private void release() throws IOException {
    for (Racer racer : racers) {
      racer.say("close");
      assertEquals("closed", racer.answer());
    }
  }

  private void requireAllRounds(int store) {
    requireAll(directory(store * ROUNDS_PER_STORE), store * ROUNDS_PER_STORE);
  }

  private static void requireAll(Path directory, int first) {
    try (KvStore store = KvStore.open(directory)) {
      for (int round = first; round < first + ROUNDS_PER_STORE; round++) {
        assertArrayEquals(key(round), store.get(key(round)), "round " + round);
      }
    }
  }

  private static byte[] key(int round) {
    return ("round-" + round).getBytes(UTF_8);
  }

  /** A process that opens what it is told to, writes, and closes when it is told to. */
  static final class Racer {
    final Process process;
    private final BufferedReader answers;

    Racer(String lock) throws IOException, URISyntaxException {
      process = JavaProcess.start(Racer.class, lock);
      answers = new BufferedReader(new InputStreamReader(process.getInputStream(), US_ASCII));
    }

    void say(String line) throws IOException {
      OutputStream out = process.getOutputStream();
      out.write((line + "\n").getBytes(US_ASCII));
      out.flush();
    }

    String answer() throws IOException {
      return String.valueOf(answers.readLine());
    }

    public static void main(String[] arguments) throws IOException {
      System.out.println("ready");
      try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, US_ASCII))) {
        KvStore store = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.equals("close")) {
            if (store != null) {
              store.close();
            }
            store = null;
            System.out.println("closed");
          } else {
            int blank = line.indexOf(' ');
            store =
                open(
                    Integer.parseInt(line.substring(0, blank)),
                    Path.of(line.substring(blank + 1)),
                    arguments[0].equals("lying"));
          }
        }
      }
    }

    private static @Nullable KvStore open(int round, Path directory, boolean lying) {
      try {
        Storage files = new FileStorage(directory, /* createIfMissing= */ true);
        KvOptions options = KvOptions.builder().durability(Durability.none()).build();
        KvStore store = OpenStore.open(lying ? withoutLock(files) : files, options);
        store.put(key(round), key(round));
        System.out.println("open");
        return store;
      } catch (StoreLockedException e) {
        System.out.println("locked");
      } catch (IOException | RuntimeException e) {
        System.out.println("failed: " + e);
      }
      return null;
    }

    private static Storage withoutLock(Storage storage) {
      return new ForwardingStorage(storage) {
        @Override
        public StorageLock lock(String name, boolean shared) {
          return () -> {};
        }
      };
    }
  }
}
