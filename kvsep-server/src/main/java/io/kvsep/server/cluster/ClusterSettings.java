package io.kvsep.server.cluster;

import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a node is started with.
 *
 * @param peers addresses of all nodes by their names, this node included
 * @param joining whether the node waits at its first start until it is made a member
 * @param insecure whether addresses other than loopback need no {@code tls}
 * @param tls null for none
 * @param directory of the node's log and store
 */
public record ClusterSettings(
    String cluster,
    String nodeId,
    Map<String, String> peers,
    boolean joining,
    boolean insecure,
    @Nullable Tls tls,
    Path directory) {
  /** Files in PEM format for the connections between nodes. */
  public record Tls(Path certificateChain, Path privateKey, Path trusted) {}
}
