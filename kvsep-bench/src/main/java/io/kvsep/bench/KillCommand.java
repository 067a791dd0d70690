package io.kvsep.bench;

import io.kvsep.error.KvException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Runs a {@link KillLoop} for a given number of kills. */
final class KillCommand {
  private KillCommand() {}

  static void run(List<String> words) {
    run(words, KillChild.class);
  }

  /**
   * @param child as in {@link KillLoop}
   */
  static void run(List<String> words, Class<?> child) {
    Arguments arguments = Arguments.parse(words, Set.of());
    String given = arguments.text("dir");
    int kills = arguments.count("kills", 20, 1, 1_000_000);
    long seed = arguments.number("seed", 1, 0, Long.MAX_VALUE);
    int writers = arguments.count("threads", 4, 1, 64);
    int keys = arguments.count("keys", 200, 8, 100_000);
    arguments.requireAllUsed();
    // The ledger of an earlier run would not match the store.
    Path directory = given == null ? Directories.temporary() : Directories.empty(Path.of(given));
    KillLoop loop = new KillLoop(directory, child, seed, writers, keys);
    long start = System.nanoTime();
    try (Progress progress = new Progress("kill", kills, System.err)) {
      for (int kill = 1; kill <= kills; kill++) {
        loop.killOnce();
        progress.update(kill);
      }
    } catch (FailedMeasurementException | KvException | UncheckedIOException e) {
      throw new FailedMeasurementException(
          e.getMessage()
              + " (after kill "
              + loop.kills()
              + " of seed "
              + seed
              + "; what was found is in "
              + directory
              + ")");
    }
    Figures figures = new Figures(System.out);
    loop.print(figures);
    figures.seconds("in", System.nanoTime() - start);
    if (given == null) {
      Directories.remove(directory);
    }
  }
}
