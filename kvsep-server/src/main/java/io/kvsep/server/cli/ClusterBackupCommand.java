package io.kvsep.server.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "backup",
    description = "Write everything that the cluster has to FILE, which must not exist.",
    footer = {
      "",
      "The backup has every write that was acknowledged before. kvsep cluster restore",
      "puts it into a cluster, kvsep restore into a store of its own."
    })
final class ClusterBackupCommand implements Callable<Integer> {
  private static final int PIECE_BYTES = 1 << 16;

  private final Streams streams;

  @Mixin private final ServerOptions server = new ServerOptions();

  @Parameters(index = "0", paramLabel = "FILE", description = "Where the backup goes.")
  private Path file = Path.of("");

  @Option(
      names = "--shard",
      paramLabel = "N",
      description = "The shard, from 0; needed if the cluster has several.")
  private @Nullable Integer shard;

  ClusterBackupCommand(Streams streams) {
    this.streams = streams;
  }

  /** The file is durable on return, and removed on failure or interrupt. */
  @Override
  public Integer call() throws IOException, InterruptedException {
    ServerConnection connection = server.connect();
    String path = "/v1/backup" + (shard == null ? "" : "?shard=" + shard);
    long start = System.nanoTime();
    long bytes = 0;
    try (UnfinishedFile target = new UnfinishedFile(file);
        ProgressBar bar = new ProgressBar(streams, "backup", ProgressBar.UNKNOWN);
        InputStream backup = connection.open(path, "application/vnd.kvsep.backup")) {
      byte[] piece = new byte[PIECE_BYTES];
      for (int count = backup.read(piece); count >= 0; count = backup.read(piece)) {
        ByteBuffer rest = ByteBuffer.wrap(piece, 0, count);
        while (rest.hasRemaining()) {
          target.channel().write(rest);
        }
        bytes += count;
        bar.advance(count);
      }
      target.finish();
    }
    double seconds = Amounts.seconds(System.nanoTime() - start);
    streams
        .output()
        .line(String.format(Locale.ROOT, "wrote %s in %.2f s", Amounts.bytes(bytes), seconds));
    return Kvsep.DONE;
  }
}
