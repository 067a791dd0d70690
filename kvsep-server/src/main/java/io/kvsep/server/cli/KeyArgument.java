package io.kvsep.server.cli;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

final class KeyArgument {
  @Parameters(index = "0", paramLabel = "KEY", description = "The key, as UTF-8 text.")
  private String key = "";

  @Option(names = "--key-hex", description = "KEY is hexadecimal digits.")
  private boolean keyHex;

  byte[] bytes() {
    // Told before the command creates a store.
    if (key.isEmpty()) {
      throw CommandFailure.failed("the key is empty");
    }
    return KeyNotation.parse("KEY", key, keyHex);
  }
}
