package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import org.jspecify.annotations.Nullable;

/**
 * An open store that is served.
 *
 * @param node the node whose store it is, null outside of a cluster
 */
record ServedStore(KvStore store, @Nullable ClusterNode node) implements AutoCloseable {
  static ServedStore of(ClusterNode node) {
    return new ServedStore(node.store(), node);
  }

  @Override
  public void close() {
    if (node == null) {
      store.close();
    } else {
      node.close();
    }
  }
}
