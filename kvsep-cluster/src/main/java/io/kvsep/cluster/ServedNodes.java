package io.kvsep.cluster;

import io.kvsep.KvResources;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterProvider;
import io.kvsep.server.cluster.ClusterSettings;
import java.time.Duration;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Starts nodes for {@code kvsep serve --cluster}, which finds it as a service. */
public final class ServedNodes implements ClusterProvider {
  /** Longer than an election, and shorter than what clients wait. */
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(8);

  /** It logs its platform at each start. The field keeps the logger, and so the level set on it. */
  private static final Logger GRPC = Logger.getLogger("org.apache.ratis.thirdparty.io.grpc");

  /** For the service loader. */
  public ServedNodes() {}

  @Override
  public ClusterNode open(ClusterSettings settings, int shards) {
    GRPC.setLevel(Level.WARNING);
    ClusterSettings.Tls tls = settings.tls();
    ClusterOptions options =
        ClusterOptions.builder(settings.nodeId(), settings.peers(), settings.directory())
            .group(settings.cluster())
            .joining(settings.joining())
            .insecure(settings.insecure())
            .tls(
                tls == null
                    ? null
                    : new ClusterOptions.Tls(
                        tls.certificateChain(), tls.privateKey(), tls.trusted()))
            .requestTimeout(REQUEST_TIMEOUT)
            .build();
    if (shards == 1) {
      ShardCount.requireNone(settings.directory());
      return new ServedNode(settings.cluster(), ReplicatedStore.open(options));
    }
    KvResources resources = KvResources.builder().build();
    try {
      ShardedStore sharded = ShardedStore.open(options, shards, resources);
      return new ServedNode(settings.cluster(), sharded, resources::close);
    } catch (RuntimeException | Error e) {
      resources.close();
      throw e;
    }
  }
}
