package io.kvsep.server.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The key and the value that a command sets it to. */
final class EntryArguments {
  @Mixin private final KeyArgument key = new KeyArgument();

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "VALUE",
      description = "The value, as UTF-8 text; - reads it from standard input.")
  private @Nullable String value;

  @Option(names = "--value-hex", description = "VALUE is hexadecimal digits.")
  private boolean valueHex;

  @Option(
      names = "--value-file",
      paramLabel = "FILE",
      description = "Take the value from FILE; - reads standard input.")
  private @Nullable Path valueFile;

  byte[] key() {
    return key.bytes();
  }

  byte[] value(Streams streams) throws IOException {
    if ((value == null) == (valueFile == null)) {
      throw CommandFailure.misused("give either VALUE or --value-file");
    }
    if (valueFile != null) {
      if (valueHex) {
        throw CommandFailure.misused("--value-hex needs VALUE, not --value-file");
      }
      if (valueFile.toString().equals(Streams.STANDARD)) {
        return streams.input().readAllBytes();
      }
      try (InputStream file = Streams.file(valueFile)) {
        return file.readAllBytes();
      }
    }
    if (Streams.STANDARD.equals(value) && !valueHex) {
      return streams.input().readAllBytes();
    }
    return KeyNotation.parse("VALUE", String.valueOf(value), valueHex);
  }
}
