package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Stores every regular file of a folder under its relative path. Syncs once at the end; on success
 * all entries are durable.
 */
@Command(
    name = "ingest",
    description = "Store every regular file below FOLDER: its relative path -> its content.",
    footer = {
      "",
      "Creates the store when there is none. Links are not followed. Files that cannot",
      "be read or are longer than 1 GiB are left out, which makes the exit code 1."
    })
final class IngestCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();
  @Mixin private final TtlOption ttl = new TtlOption();

  @Parameters(index = "0", paramLabel = "FOLDER", description = "Where the files are.")
  private Path folder = Path.of("");

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private long files;
  private long bytes;

  IngestCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    long start = System.nanoTime();
    long plannedBytes = plannedBytes();
    Skipped skipped = new Skipped();
    try (KvStore open = store.openOrCreate(KvOptions.builder().durability(Durability.none()));
        ProgressBar bar = new ProgressBar(streams, "ingest", plannedBytes)) {
      BatchedWriter writer =
          new BatchedWriter(open, keyspace.keyspaceOrNew(open), ttl.timeToLive());
      new FolderWalk(folder, store.directory(), skipped)
          .run(file -> ingest(file, writer, bar, skipped));
      writer.flush();
      open.sync();
    }
    new Transfer("stored", files, bytes, System.nanoTime() - start, skipped.count())
        .report(streams.output(), json);
    skipped.requireNone("file", "stored");
    return Kvsep.DONE;
  }

  private boolean ingest(
      FolderWalk.SourceFile file, BatchedWriter writer, ProgressBar bar, Skipped skipped) {
    byte[] content;
    try {
      content = Files.readAllBytes(file.path());
    } catch (IOException e) {
      skipped.add(file.path().toString(), "cannot be read");
      return true;
    }
    writer.put(file.key().getBytes(UTF_8), content);
    files++;
    bytes += content.length;
    bar.advance(content.length);
    return true;
  }

  /** The total is only needed for a progress bar. Also finds a missing folder early. */
  private long plannedBytes() throws IOException {
    long[] total = new long[1];
    new FolderWalk(folder, store.directory(), new Skipped())
        .run(
            file -> {
              streams.output().requireNotInterrupted();
              total[0] += file.length();
              return streams.errorsAreTerminal();
            });
    return total[0];
  }
}
