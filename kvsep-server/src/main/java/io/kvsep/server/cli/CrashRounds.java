package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Kills writing processes and checks the store afterwards. The process dies at any point as by kill
 * -9. Data handed to the operating system survives, so this tests recovery from a process crash,
 * not from a power failure.
 */
final class CrashRounds {
  private static final long START_SECONDS_MAX = 60;
  private static final long WRITE_MILLIS_MAX = 2_000;

  /** Exit value of a killed process: from SIGKILL, or 1 on Windows. */
  private static final int KILLED = File.separatorChar == '\\' ? 1 : 128 + 9;

  private final Class<?> program;
  private final Path directory;
  private final int rounds;
  private final int batchesPerRound;

  private long acknowledged;
  private CrashBatches.Found found = new CrashBatches.Found(0, 0);
  private long replayedBytes;
  private long tornBytes;

  CrashRounds(Path directory, int rounds, int batchesPerRound) {
    this(Kvsep.class, directory, rounds, batchesPerRound);
  }

  /**
   * @param program has a {@code main} with a {@link CrashWriterCommand}, or a faulty one in tests
   */
  CrashRounds(Class<?> program, Path directory, int rounds, int batchesPerRound) {
    this.program = program;
    this.directory = directory;
    this.rounds = rounds;
    this.batchesPerRound = batchesPerRound;
  }

  void run() throws IOException {
    for (int round = 0; round < rounds; round++) {
      long first = found.batches() + 1;
      long last = writeUntilKilled(first);
      acknowledged += last - first + 1;
      try (KvStore store = KvStore.open(directory)) {
        StoreStats stats = store.stats();
        replayedBytes += stats.replayedBytes();
        tornBytes += stats.tornBytes();
        found = CrashBatches.check(store, last);
      }
    }
  }

  /** Batches that writers reported as synced before they died. */
  long acknowledged() {
    return acknowledged;
  }

  /** Batches in the store: the acknowledged ones and at most one more per kill. */
  CrashBatches.Found found() {
    return found;
  }

  /** Log bytes replayed by the recoveries. */
  long replayedBytes() {
    return replayedBytes;
  }

  /** Bytes of torn log tails cut off by the recoveries. */
  long tornBytes() {
    return tornBytes;
  }

  /** Returns the last number the process reported. Waits for at least one batch. */
  private long writeUntilKilled(long first) throws IOException {
    Path errors = Files.createTempFile("kvsep-demo-writer", ".txt");
    Process process = new ProcessBuilder(command(first)).redirectError(errors.toFile()).start();
    Acknowledgements heard = new Acknowledgements(process, first - 1, batchesPerRound);
    try {
      heard.start();
      if (!heard.first.await(START_SECONDS_MAX, TimeUnit.SECONDS)) {
        throw CommandFailure.failed("the writer wrote nothing for a minute");
      }
      // On a slow device fewer batches are enough.
      heard.enough.await(WRITE_MILLIS_MAX, TimeUnit.MILLISECONDS);
      boolean wasAlive = process.isAlive();
      // Process.destroyForcibly would close the pipe and lose its content.
      process.toHandle().destroyForcibly();
      heard.join();
      // A writer that ended before the kill proves nothing.
      if (process.waitFor() != KILLED || !wasAlive || heard.last.get() < first) {
        throw CommandFailure.failed(
            "the writer ended by itself, with "
                + process.exitValue()
                + ": "
                + Files.readString(errors, UTF_8));
      }
      return heard.last.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw CommandFailure.failed("interrupted");
    } finally {
      process.destroyForcibly();
      Files.deleteIfExists(errors);
    }
  }

  private List<String> command(long first) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-Dsun.misc.unsafe.memory.access=allow",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path", "."),
        program.getName(),
        CrashWriterCommand.NAME,
        "--dir",
        directory.toString(),
        "--first",
        Long.toString(first));
  }

  /** Reads numbers from a process until its output ends. Ignores an incomplete last line. */
  private static final class Acknowledgements extends Thread {
    private final Process process;
    private final AtomicLong last;
    private final CountDownLatch first = new CountDownLatch(1);
    private final CountDownLatch enough;

    Acknowledgements(Process process, long before, int wanted) {
      super("kvsep-demo-acknowledgements");
      this.process = process;
      this.last = new AtomicLong(before);
      this.enough = new CountDownLatch(wanted);
      setDaemon(true);
    }

    @Override
    public void run() {
      try (BufferedReader lines =
          new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
        StringBuilder line = new StringBuilder();
        for (int c = lines.read(); c >= 0; c = lines.read()) {
          if (c != '\n') {
            line.append((char) c);
            continue;
          }
          last.set(Long.parseLong(line.toString()));
          line.setLength(0);
          first.countDown();
          enough.countDown();
        }
      } catch (IOException | NumberFormatException e) {
        // The process is gone with its pipe, or a crashing JVM printed text; the numbers read so
        // far count.
        return;
      } finally {
        first.countDown();
        while (enough.getCount() > 0) {
          enough.countDown();
        }
      }
    }
  }
}
