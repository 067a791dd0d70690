package io.kvsep.server.cluster;

import java.util.Optional;
import java.util.ServiceLoader;

/** Starts nodes. The module kvsep-cluster has one, which {@link #find} finds on the class path. */
public interface ClusterProvider {
  /**
   * Starts a node. Returns when its own store is open; the cluster may have no leader yet.
   *
   * @throws IllegalArgumentException if the settings are invalid
   * @throws io.kvsep.error.KvException if the node cannot start
   */
  ClusterNode open(ClusterSettings settings);

  /** The provider on the class path. */
  static Optional<ClusterProvider> find() {
    return ServiceLoader.load(ClusterProvider.class).findFirst();
  }
}
