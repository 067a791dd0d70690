package io.kvsep.server.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Chooses the files and directory of {@link Demo}, and cleans up. Keeps the store of a failed run
 * for inspection.
 */
@Command(
    name = "demo",
    description = "Store the files of FOLDER, read them back, kill a writer, check everything.",
    footer = {
      "",
      "FOLDER is only read. Without one the local Maven repository is taken, and",
      "failing that the kvsep project or the current folder. Works in a temporary",
      "directory that is removed at the end, unless --dir or --keep is given. Exit",
      "code 1 when anything was lost or differs."
    })
final class DemoCommand implements Callable<Integer> {
  private static final int FILES_MAX = 20_000;
  private static final int BATCHES_PER_KILL = 200;

  private final Streams streams;

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "FOLDER",
      description = "Where the files come from.")
  private @Nullable Path folder;

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "Work in DIR, which must be empty or absent, and keep the store.")
  private @Nullable Path directory;

  @Option(names = "--keep", description = "Keep the temporary directory.")
  private boolean keep;

  @Option(
      names = "--limit-bytes",
      paramLabel = "AMOUNT",
      defaultValue = "1g",
      converter = Amounts.ByteCount.class,
      description =
          "Take at most this much of FOLDER (default: ${DEFAULT-VALUE}, and in any case"
              + " at most 20,000 files).")
  private long limitBytes = 1L << 30;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  DemoCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    Path source =
        folder != null
            ? folder
            : defaultFolder(
                Path.of(System.getProperty("user.home", "")), System.getProperty("kvsep.home", ""));
    try (WorkDirectory work =
        directory != null ? WorkDirectory.at(directory) : WorkDirectory.temporary("kvsep-demo")) {
      if (keep) {
        work.keep();
      }
      run(source, work);
    }
    return Kvsep.DONE;
  }

  private void run(Path source, WorkDirectory work) throws IOException {
    DemoReport report = new DemoReport(streams.output(), json);
    Demo.Setup setup = new Demo.Setup(source, work.path(), limitBytes, FILES_MAX, BATCHES_PER_KILL);
    try {
      new Demo(streams, report, setup).run();
    } catch (StandardOutput.ReaderGoneException e) {
      throw e;
    } catch (RuntimeException | IOException e) {
      if (work.isEmpty()) {
        throw e;
      }
      work.keep();
      throw CommandFailure.failed(
          "demo failed: " + Kvsep.reason(e) + "; the store is kept in " + work.path(), e);
    }
    if (work.isKept()) {
      report.say("The store is in " + work.path());
    }
  }

  /**
   * Prefers the local Maven repository: it has many files of many lengths, and exists where kvsep
   * was built.
   */
  static Path defaultFolder(Path userHome, String project) {
    Path repository = userHome.resolve(".m2").resolve("repository");
    return Files.isDirectory(repository) ? repository : Path.of(project).toAbsolutePath();
  }
}
