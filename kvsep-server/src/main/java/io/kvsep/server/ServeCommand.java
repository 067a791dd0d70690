package io.kvsep.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.server.http.HttpLimits;
import io.kvsep.server.http.HttpOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Serves a store until the process is asked to stop. */
@Command(
    name = "serve",
    description = "Serve the store over HTTP until the process is asked to stop (SIGTERM, SIGINT).",
    footer = {
      "",
      "Without a token it listens at loopback only. docs/http.md has the interface; a page for",
      "browsers is at /."
    })
final class ServeCommand implements Callable<Integer> {
  private static final int TOKEN_FILE_BYTES_MAX = 4096;

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(
      names = "--bind",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = "Listen at ADDRESS of this machine (default: 127.0.0.1). Others need a token.")
  private String bind = "127.0.0.1";

  @Option(
      names = "--port",
      paramLabel = "P",
      defaultValue = "8480",
      description = "Listen at port P (default: 8480); 0 takes a free one.")
  private int port;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Ask every client for the token that is the first line of FILE.")
  private @Nullable Path tokenFile;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "Encrypt, with this chain of certificates (PEM); needs --tls-key.")
  private @Nullable Path certificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "The private key of the certificate (PEM, PKCS #8).")
  private @Nullable Path key;

  @Option(
      names = "--checkpoints",
      paramLabel = "DIR",
      description = "Let clients have checkpoints made in DIR; without it they may not.")
  private @Nullable Path checkpoints;

  @Option(
      names = "--value-max",
      paramLabel = "BYTES",
      description = "Longest value that is taken (default: 64 MiB or a quarter of the heap).")
  private @Nullable Integer valueMax;

  @Option(
      names = "--sync",
      paramLabel = "MILLIS",
      defaultValue = "1000",
      description =
          "Bring writes to stable storage every MILLIS (default: 1000); 0 before each is answered.")
  private int syncMillis;

  ServeCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    HttpOptions http = httpOptions();
    KvOptions options =
        KvOptions.builder()
            .durability(
                syncMillis == 0
                    ? Durability.sync()
                    : Durability.async(Duration.ofMillis(syncMillis)))
            .build();
    // In a class of its own, so that other commands do not load what it needs.
    new Serving(streams, store.directory(), options, http).run();
    return Kvsep.DONE;
  }

  private HttpOptions httpOptions() throws IOException {
    if (syncMillis < 0) {
      throw CommandFailure.misused("--sync is negative: " + syncMillis);
    }
    Path chain = certificate;
    Path secret = key;
    if ((chain == null) != (secret == null)) {
      throw CommandFailure.misused("--tls-cert and --tls-key go together");
    }
    String token = tokenFile == null ? null : token(tokenFile);
    try {
      HttpOptions.Builder http =
          HttpOptions.builder()
              .bind(InetAddress.getByName(bind))
              .port(port)
              .token(token)
              .checkpoints(checkpoints);
      if (valueMax != null) {
        http.limits(HttpLimits.defaults().valueBytesMax(valueMax));
      }
      if (chain != null && secret != null) {
        http.tls(chain, secret);
      }
      return http.build();
    } catch (UnknownHostException e) {
      throw CommandFailure.misused("--bind: no such address: " + bind);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused(String.valueOf(e.getMessage()));
    }
  }

  private static String token(Path file) throws IOException {
    if (Files.size(file) > TOKEN_FILE_BYTES_MAX) {
      throw CommandFailure.misused("--token-file: " + file + " is too long for a token");
    }
    return Files.readString(file, UTF_8).lines().findFirst().orElse("").strip();
  }
}
