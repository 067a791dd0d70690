package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterProvider;
import io.kvsep.server.cluster.ClusterSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code serve} on a node of a cluster. */
final class ClusterArguments {
  /** In the directory of a node: its cluster and its name. */
  private static final String MARK = "CLUSTER";

  private static final int SHARDS_MAX = 64;

  @Option(
      names = "--cluster",
      paramLabel = "NAME",
      description = "Serve a node of the cluster NAME; needs --node and --peers.")
  private @Nullable String cluster;

  @Option(names = "--node", paramLabel = "ID", description = "The name of this node.")
  private @Nullable String node;

  @Option(
      names = "--peers",
      paramLabel = "ID=HOST:PORT",
      split = ",",
      description = "Where the nodes, this one included, listen for each other.")
  private Map<String, String> peers = new LinkedHashMap<>();

  @Option(names = "--join", description = "Wait at the first start until it is made a member.")
  private boolean join;

  @Option(
      names = "--shards",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "Spread the keys over N groups with leaders of their own (default: 1); fixed, on all"
              + " nodes the same.")
  private int shards = 1;

  @Option(
      names = "--peer-cert",
      paramLabel = "FILE",
      description = "Encrypt between nodes, with this chain (PEM); needs --peer-key, --peer-ca.")
  private @Nullable Path certificate;

  @Option(
      names = "--peer-key",
      paramLabel = "FILE",
      description = "The private key of that certificate (PEM, PKCS #8).")
  private @Nullable Path key;

  @Option(
      names = "--peer-ca",
      paramLabel = "FILE",
      description = "Certificates (PEM) that those of other nodes must be signed by.")
  private @Nullable Path trusted;

  @Option(
      names = "--insecure",
      description = "Allow peers beyond this machine without encryption: others may change all.")
  private boolean insecure;

  @Option(
      names = "--redirect",
      paramLabel = "ID=URL",
      split = ",",
      description = "Redirect HTTP clients to the leader, at the URL of its server.")
  private Map<String, String> redirects = new LinkedHashMap<>();

  @Option(
      names = "--redis-peers",
      paramLabel = "ID=HOST:PORT",
      split = ",",
      description = "Where Redis clients reach the nodes: those of Redis Cluster find them all.")
  private Map<String, String> redisPeers = new LinkedHashMap<>();

  boolean arePresent() {
    return cluster != null;
  }

  Map<String, String> redirects() {
    return redirects;
  }

  Map<String, String> redisPeers() {
    return redisPeers;
  }

  /** Throws if the options do not fit together. */
  void check() {
    boolean hasOthers =
        node != null
            || !peers.isEmpty()
            || join
            || shards != 1
            || insecure
            || certificate != null
            || key != null
            || trusted != null
            || !redirects.isEmpty()
            || !redisPeers.isEmpty();
    if (cluster == null && hasOthers) {
      throw CommandFailure.misused("options of a node need --cluster");
    }
    if (cluster != null && (cluster.isBlank() || node == null || peers.isEmpty())) {
      throw CommandFailure.misused("--cluster needs a name, --node and --peers");
    }
    if (node != null && !peers.containsKey(node)) {
      throw CommandFailure.misused("--peers has no address of --node " + node);
    }
    if (shards < 1 || shards > SHARDS_MAX) {
      throw CommandFailure.misused("--shards must be from 1 to " + SHARDS_MAX + ": " + shards);
    }
    if (shards > 1 && !redirects.isEmpty()) {
      throw CommandFailure.misused("--redirect is for one shard: --shards has no leader of all");
    }
    if ((certificate == null) != (key == null) || (certificate == null) != (trusted == null)) {
      throw CommandFailure.misused("--peer-cert, --peer-key and --peer-ca go together");
    }
  }

  /** Starts the node in its directory. */
  ClusterNode open(Path directory) throws IOException {
    if (cluster == null || node == null) {
      throw new IllegalStateException("no node");
    }
    ClusterProvider provider =
        ClusterProvider.find()
            .orElseThrow(
                () ->
                    CommandFailure.misused(
                        "--cluster needs the module kvsep-cluster, which kvsep.jar does not have:"
                            + " start bin/kvsep of the distribution, or add the jars of its"
                            + " lib/cluster to the class path"));
    ClusterSettings settings =
        new ClusterSettings(cluster, node, peers, join, insecure, tls(), directory);
    mark(directory, cluster + ' ' + node);
    try {
      return provider.open(settings, shards);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused(String.valueOf(e.getMessage()));
    }
  }

  private ClusterSettings.@Nullable Tls tls() {
    return certificate == null || key == null || trusted == null
        ? null
        : new ClusterSettings.Tls(certificate, key, trusted);
  }

  /** Throws if the directory is of something else. */
  private static void mark(Path directory, String content) throws IOException {
    Path mark = directory.resolve(MARK);
    Files.createDirectories(directory);
    if (isMarked(directory)) {
      String found = Files.readString(mark, UTF_8).strip();
      if (!found.equals(content)) {
        throw CommandFailure.failed(
            directory + " belongs to cluster and node '" + found + "', not '" + content + "'");
      }
      return;
    }
    try (Stream<Path> files = Files.list(directory)) {
      if (files.findAny().isPresent()) {
        throw CommandFailure.failed(
            directory + " has other files: a node begins in an empty directory");
      }
    }
    Files.writeString(mark, content + '\n', UTF_8);
  }

  /** Whether a directory is that of a node. */
  static boolean isMarked(Path directory) {
    return Files.exists(directory.resolve(MARK));
  }
}
