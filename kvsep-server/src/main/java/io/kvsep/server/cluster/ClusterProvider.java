package io.kvsep.server.cluster;

import java.util.Optional;
import java.util.ServiceLoader;

/** Starts nodes. The module kvsep-cluster has one, which {@link #find} finds on the class path. */
public interface ClusterProvider {
  /**
   * Starts a node. Returns when its own store is open; the cluster may have no leader yet.
   *
   * @param shards number of groups that share the keys, fixed when the cluster is made
   * @throws IllegalArgumentException if the settings are invalid, or the node has another number of
   *     shards
   * @throws io.kvsep.error.KvException if the node cannot start
   */
  ClusterNode open(ClusterSettings settings, int shards);

  /** The provider on the class path. */
  static Optional<ClusterProvider> find() {
    return ServiceLoader.load(ClusterProvider.class).findFirst();
  }
}
