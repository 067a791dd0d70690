package io.kvsep.server.cli;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The server that a command asks. */
final class ServerOptions {
  @Option(
      names = "--url",
      paramLabel = "URL",
      defaultValue = "http://127.0.0.1:8480",
      description = "Ask the server at URL (default: ${DEFAULT-VALUE}).")
  private URI url = URI.create("");

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Show the server the token that is the first line of FILE.")
  private @Nullable Path tokenFile;

  ServerConnection connect() throws IOException {
    return new ServerConnection(
        url, tokenFile == null ? null : ServeCommand.token("--token-file", tokenFile));
  }
}
