package io.kvsep.server.cli;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.server.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Restores a backup into a store in a temporary directory, and writes its entries through the node
 * in batches, since the log of a cluster takes writes alone.
 */
@Command(
    name = "restore",
    description = "Put the entries of the backup in FILE into the cluster.",
    footer = {
      "",
      "Takes full backups of clusters and of single stores. The cluster keeps what it",
      "has under other keys: begin with an empty one for a copy. An interrupted restore",
      "has written a part; to repeat it does no harm."
    })
final class ClusterRestoreCommand implements Callable<Integer> {
  /** Keyspace in which every node keeps how far its store is. */
  private static final String OF_THE_NODE = "kvsep.cluster";

  private static final int BATCH_CHARACTERS = 1 << 20;
  private static final Duration TIME = Duration.ofMinutes(1);

  private final Streams streams;

  @Mixin private final ServerOptions server = new ServerOptions();

  @Parameters(index = "0", paramLabel = "FILE", description = "Where the backup is.")
  private Path file = Path.of("");

  @Option(
      names = "--work-dir",
      paramLabel = "DIR",
      description = "Unpack the backup in DIR (default: the folder for temporary files).")
  private Path workDirectory = Path.of(System.getProperty("java.io.tmpdir"));

  private long count;

  ClusterRestoreCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    ServerConnection connection = server.connect();
    long start = System.nanoTime();
    try (InputStream input = Streams.file(file);
        WorkDirectory work = WorkDirectory.temporaryIn(workDirectory, "kvsep-restore");
        KvStore store = KvStore.open(work.path())) {
      // Throws before the work if it is no cluster.
      ServedCluster unusedCluster = ServedCluster.of(connection);
      unpack(input, store);
      for (Map.Entry<String, KvReader> keyspace : KeyspaceOption.all(store).entrySet()) {
        if (!keyspace.getKey().equals(OF_THE_NODE)) {
          write(connection, keyspace.getKey(), keyspace.getValue());
        }
      }
    }
    double seconds = Amounts.seconds(System.nanoTime() - start);
    streams
        .output()
        .line(
            String.format(
                Locale.ROOT, "restored %s entries in %.2f s", Amounts.count(count), seconds));
    return Kvsep.DONE;
  }

  private void unpack(InputStream input, KvStore store) throws IOException {
    try (ProgressBar bar = new ProgressBar(streams, "unpack", Files.size(file))) {
      store.restore(new BufferedInputStream(new CountedInput(input, bar), 1 << 16));
    }
  }

  /**
   * @param keyspace empty for the store's own
   */
  private void write(ServerConnection connection, String keyspace, KvReader entries)
      throws IOException, InterruptedException {
    if (!keyspace.isEmpty()) {
      String path = "/v1/keyspaces/" + ServerConnection.encoded(keyspace);
      connection.send("PUT", path, BodyPublishers.noBody(), TIME);
    }
    StringBuilder batch = new StringBuilder();
    long planned = entries.approximateCount(null, null);
    try (KvCursor cursor = entries.cursor(ScanOptions.all());
        ProgressBar bar = new ProgressBar(streams, "restore", planned, ProgressBar.Unit.ENTRIES)) {
      while (cursor.next()) {
        String line = line(keyspace, cursor);
        if (batch.length() + line.length() > BATCH_CHARACTERS) {
          send(connection, batch);
        }
        batch.append(line);
        count++;
        bar.advance(1);
      }
      send(connection, batch);
    }
  }

  private static String line(String keyspace, KvCursor cursor) {
    JsonObject put = new JsonObject().put("op", "put");
    if (!keyspace.isEmpty()) {
      put.put("keyspace", keyspace);
    }
    put.put("keyBase64", Base64.getEncoder().encodeToString(cursor.key()));
    put.put("valueBase64", Base64.getEncoder().encodeToString(cursor.value()));
    OptionalLong expiry = cursor.expiresAtMillis();
    if (expiry.isPresent()) {
      // One that has ended meanwhile ends at once.
      put.put("ttlMillis", Math.max(1, expiry.getAsLong() - System.currentTimeMillis()));
    }
    return put + "\n";
  }

  private static void send(ServerConnection connection, StringBuilder batch)
      throws IOException, InterruptedException {
    if (!batch.isEmpty()) {
      String body = batch.toString();
      batch.setLength(0);
      connection.send("POST", "/v1/batch", BodyPublishers.ofString(body), TIME);
    }
  }
}
