package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.server.http.HttpLimits;
import io.kvsep.server.http.HttpOptions;
import io.kvsep.server.redis.RedisOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "serve",
    description =
        "Serve the store over HTTP and to Redis clients until the process is asked to stop "
            + "(SIGTERM, SIGINT). Creates the store when there is none.",
    footer = {
      "",
      "Without a token it listens at loopback only. docs/http.md and docs/redis.md",
      "have the interfaces; a page for browsers is at /. docs/guide/cluster.md has",
      "clusters: several nodes with the same entries."
    })
final class ServeCommand implements Callable<Integer> {
  private static final int TOKEN_FILE_BYTES_MAX = 4096;

  private static final int SYNC_MILLIS = 1000;

  /** Port value for no listener. */
  private static final int NO_PORT = -1;

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Mixin private final ClusterArguments cluster = new ClusterArguments();

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
      description = "Listen for HTTP at port P (default: 8480); 0 takes a free one.")
  private int port;

  @Option(
      names = "--redis-port",
      paramLabel = "P",
      defaultValue = "6379",
      description =
          "Listen for Redis clients at port P (default: 6379); 0 takes a free one, -1 none.")
  private int redisPort;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Ask every client for the token that is the first line of FILE.")
  private @Nullable Path tokenFile;

  @Option(
      names = "--read-token-file",
      paramLabel = "FILE",
      description =
          "Let clients that give the first line of FILE as a token only read; needs --token-file.")
  private @Nullable Path readTokenFile;

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
      description =
          "Longest value that is taken over HTTP (default: 64 MiB or a quarter of the heap).")
  private @Nullable Integer valueMax;

  @Option(
      names = "--sync",
      paramLabel = "MILLIS",
      description =
          "Bring writes to stable storage every MILLIS (default: 1000); 0 before each is answered.")
  private @Nullable Integer sync;

  @Option(
      names = "--retain-changes",
      paramLabel = "SIZE",
      converter = Amounts.ByteCount.class,
      defaultValue = "0",
      description =
          "Keep SIZE (such as 2g) of the log for change feeds that are behind (default: 0).")
  private long retainedChanges;

  ServeCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    cluster.check();
    int syncMillis = sync == null ? SYNC_MILLIS : sync;
    if (cluster.arePresent() && (sync != null || retainedChanges > 0)) {
      throw CommandFailure.misused("--sync and --retain-changes are not for a node of a cluster");
    }
    if (syncMillis < 0) {
      throw CommandFailure.misused("--sync is negative: " + syncMillis);
    }
    if ((certificate == null) != (key == null)) {
      throw CommandFailure.misused("--tls-cert and --tls-key go together");
    }
    String token = tokenFile == null ? null : token("--token-file", tokenFile);
    String readToken = readTokenFile == null ? null : token("--read-token-file", readTokenFile);
    KvOptions.Builder options = options(syncMillis);
    HttpOptions http;
    RedisOptions redis;
    try {
      options.build();
      InetAddress address = InetAddress.getByName(bind);
      http = http(address, token, readToken);
      redis =
          redisPort == NO_PORT
              ? null
              : RedisOptions.on(new InetSocketAddress(address, redisPort), token)
                  .withReadToken(readToken)
                  .withPeers(cluster.redisPeers());
    } catch (UnknownHostException e) {
      throw CommandFailure.misused("--bind: no such address: " + bind);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused(String.valueOf(e.getMessage()));
    }
    // A separate class, so that other commands do not load its dependencies.
    String durability =
        cluster.arePresent()
            ? "synced by a majority"
            : syncMillis == 0 ? "sync" : "sync every " + syncMillis + " ms";
    Path directory = store.directory();
    Serving.Opening opening =
        () ->
            cluster.arePresent()
                ? ServedStore.of(cluster.open(directory))
                : new ServedStore(store.openOrCreate(options), null);
    new Serving(streams, directory, durability, opening, http, redis, certificate, key).run();
    return Kvsep.DONE;
  }

  private KvOptions.Builder options(int syncMillis) {
    return KvOptions.builder()
        .durability(
            syncMillis == 0 ? Durability.sync() : Durability.async(Duration.ofMillis(syncMillis)))
        .changeRetentionBytes(retainedChanges);
  }

  private HttpOptions http(
      InetAddress address, @Nullable String token, @Nullable String readToken) {
    HttpOptions.Builder http =
        HttpOptions.builder()
            .bind(address)
            .port(port)
            .token(token)
            .readToken(readToken)
            .checkpoints(checkpoints)
            .redirects(cluster.redirects());
    if (valueMax != null) {
      http.limits(HttpLimits.defaults().valueBytesMax(valueMax));
    }
    if (certificate != null && key != null) {
      http.tls(certificate, key);
    }
    return http.build();
  }

  static String token(String option, Path file) throws IOException {
    if (Files.size(file) > TOKEN_FILE_BYTES_MAX) {
      throw CommandFailure.misused(option + ": " + file + " is too long for a token");
    }
    return Files.readString(file, UTF_8).lines().findFirst().orElse("").strip();
  }
}
