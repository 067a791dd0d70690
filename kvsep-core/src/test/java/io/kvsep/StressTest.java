package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The public calls from many threads at once, see {@link StressRun}: a number of writes, or with
 * {@code -Dkvsep.stress.seconds=N} for so long each. A seed repeats what each thread draws, not how
 * they meet.
 */
final class StressTest {
  private static final long SECONDS = Long.getLong("kvsep.stress.seconds", 0);
  private static final int LONG_WRITES = 3_000;

  @TempDir Path directory;

  @Test
  void concurrentReadersFindWhatMustBeThere() {
    seeds("concurrentReadersFindWhatMustBeThere", seed -> inMemory(seed, 4, 800));
  }

  @Test
  void concurrentReadersFindWhatMustBeThereOnFiles() {
    seeds("concurrentReadersFindWhatMustBeThereOnFiles", seed -> onFiles(seed, 2, 25));
  }

  private static void inMemory(long seed, int times, int writes) {
    Deque<CrashableStorage> last = new ArrayDeque<>(List.of(new CrashableStorage()));
    Supplier<Storage> disk =
        () -> {
          assertEquals(List.of(), last.element().openFiles());
          last.add(last.remove().crashKeepingAll());
          return last.element();
        };
    run(disk, "in memory", seed, times, writes);
  }

  private void onFiles(long seed, int times, int writes) {
    Path store = directory.resolve("store-" + seed);
    Supplier<Storage> disk =
        () -> {
          try {
            return new FileStorage(store, true);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        };
    run(disk, "on files", seed, times, writes);
  }

  private static void seeds(String method, LongConsumer test) {
    int count = SECONDS > 0 ? 1 : Integer.getInteger("kvsep.seeds", 1);
    Seeds.run(StressTest.class, method, 1, count, test);
  }

  private static void run(Supplier<Storage> disk, String where, long seed, int times, int writes) {
    StressRun run = new StressRun(disk, seed);
    try {
      if (SECONDS > 0) {
        run.run(TimeUnit.SECONDS.toNanos(SECONDS), LONG_WRITES);
        System.out.println("stress " + where + " for " + SECONDS + " s: " + run.model().tally());
      } else {
        run.run(times, writes);
      }
    } catch (InterruptedException | RuntimeException | AssertionError e) {
      String asked = SECONDS > 0 ? "with -Dkvsep.stress.seconds=" + SECONDS + ", " : "";
      throw new AssertionError(asked + "done so far: " + run.model().tally(), e);
    }
    for (String what : List.of("puts", "batches", "flushes")) {
      assertTrue(run.model().counted(what) > 0, () -> "no " + what);
    }
  }
}
