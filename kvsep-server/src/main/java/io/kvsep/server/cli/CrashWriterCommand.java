package io.kvsep.server.cli;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The process that the demo kills. Writes batch after batch and prints the number of each once it
 * is acknowledged as synced. Ends on its own only if its output is no longer read.
 */
@Command(name = CrashWriterCommand.NAME, hidden = true, description = "Write until killed.")
final class CrashWriterCommand implements Callable<Integer> {
  static final String NAME = "demo-writer";

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(names = "--first", description = "Number of the first batch.")
  private long first = 1;

  CrashWriterCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    try (KvStore open = store.openExisting(KvOptions.builder().durability(Durability.sync()))) {
      for (long number = first; ; number++) {
        open.write(CrashBatches.batch(number));
        streams.output().line(Long.toString(number));
        streams.output().flush();
      }
    }
  }
}
