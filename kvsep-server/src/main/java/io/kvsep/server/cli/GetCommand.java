package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "get",
    description = "Write the value of KEY, byte for byte. Exit code 1 when KEY is absent.")
final class GetCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyArgument key = new KeyArgument();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Option(
      names = "--output",
      paramLabel = "FILE",
      description = "Write to FILE instead of standard output; left alone when KEY is absent.")
  private @Nullable Path target;

  GetCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    byte[] keyBytes = key.bytes();
    try (KvStore open = store.openToRead()) {
      @Nullable Boolean found = keyspace.reader(open).read(keyBytes, this::written);
      if (found == null) {
        throw CommandFailure.failed("no such key: " + ByteText.show(keyBytes));
      }
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    return Kvsep.DONE;
  }

  private Boolean written(ByteBuffer value) {
    try {
      if (target == null) {
        streams.output().bytes(value);
      } else if (Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
        // Writes into the existing target, which may be a pipe, a device, a link, or a file with
        // its own owner and permissions.
        try (OutputStream file = Files.newOutputStream(target);
            WritableByteChannel channel = Channels.newChannel(file)) {
          write(value, channel);
        }
      } else {
        try (UnfinishedFile file = UnfinishedFile.beside(target)) {
          write(value, file.channel());
          file.take(target);
        }
      }
      return true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(ByteBuffer value, WritableByteChannel channel) throws IOException {
    while (value.hasRemaining()) {
      channel.write(value);
    }
  }
}
