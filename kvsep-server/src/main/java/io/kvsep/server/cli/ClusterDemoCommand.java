package io.kvsep.server.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Chooses the directory of {@link ClusterDemo}, and cleans up unless it failed. */
@Command(
    name = "demo",
    description =
        "Run a cluster on this machine, kill its leader while clients write, check everything.",
    footer = {
      "",
      "Starts three nodes on free ports of loopback, kills the leader, starts it again,",
      "adds a fourth node, and compares the replicas. Works in a temporary directory",
      "that is removed at the end, unless --dir or --keep is given. Exit code 1 when",
      "an acknowledged write was lost or replicas differ."
    })
final class ClusterDemoCommand implements Callable<Integer> {
  private final Streams streams;

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "Work in DIR, which must be empty or absent, and keep it.")
  private @Nullable Path directory;

  @Option(names = "--keep", description = "Keep the temporary directory.")
  private boolean keep;

  @Option(
      names = "--clients",
      paramLabel = "N",
      defaultValue = "6",
      description = "Write with N clients at once, 1 to 64 (default: ${DEFAULT-VALUE}).")
  private int clients;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  ClusterDemoCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    if (clients < 1 || clients > 64) {
      throw CommandFailure.misused("--clients takes 1 to 64: " + clients);
    }
    try (WorkDirectory work =
        directory != null
            ? WorkDirectory.at(directory)
            : WorkDirectory.temporary("kvsep-cluster-demo")) {
      if (keep) {
        work.keep();
      }
      run(work);
    }
    return Kvsep.DONE;
  }

  private void run(WorkDirectory work) throws IOException {
    DemoReport report = new DemoReport(streams.output(), json);
    // Cleans up, which the end of the process would not wait for.
    streams.stopSignals().accept(Thread.currentThread()::interrupt);
    try {
      new ClusterDemo(report, work.path(), clients).run();
    } catch (InterruptedException e) {
      throw CommandFailure.failed("interrupted", e);
    } catch (StandardOutput.ReaderGoneException e) {
      throw e;
    } catch (RuntimeException | IOException e) {
      work.keep();
      throw CommandFailure.failed(
          "demo failed: " + Kvsep.reason(e) + "; what the nodes have is kept in " + work.path(), e);
    }
    if (work.isKept()) {
      report.say("The nodes' folders are in " + work.path());
    }
  }
}
