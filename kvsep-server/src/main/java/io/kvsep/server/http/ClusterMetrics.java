package io.kvsep.server.http;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.function.ToDoubleFunction;

/** Meters of a node of a cluster, {@code kvsep.cluster.…}, for each shard if there are several. */
final class ClusterMetrics {
  private final ClusterNode node;
  private final int shard;

  private ClusterMetrics(ClusterNode node, int shard) {
    this.node = node;
    this.shard = shard;
  }

  static void bind(ClusterNode node, MeterRegistry registry) {
    for (int shard = 0; shard < node.shards(); shard++) {
      Tags tags = node.shards() == 1 ? Tags.empty() : Tags.of("shard", Integer.toString(shard));
      new ClusterMetrics(node, shard).bind(registry, tags);
    }
  }

  private void bind(MeterRegistry registry, Tags tags) {
    add(
        registry,
        tags,
        "leader",
        "1 on the leader, else 0",
        group -> node.nodeId().equals(group.leader()) ? 1 : 0);
    add(registry, tags, "members", "Members of the cluster", group -> group.members().size());
    add(registry, tags, "term", "Number of the election", ClusterStatus.Group::term);
    add(
        registry,
        tags,
        "commit.index",
        "Entries of the log that are committed",
        ClusterStatus.Group::commitIndex);
    add(registry, tags, "applied.index", "Entries that this node has applied", this::applied);
    add(
        registry,
        tags,
        "lag",
        "Committed entries that this node has not applied",
        group -> Math.max(0, group.commitIndex() - applied(group)));
    Gauge.builder("kvsep.cluster.snapshot.age", node, any -> snapshotAgeSeconds())
        .description("Age of the last snapshot of this node")
        .baseUnit("seconds")
        .tags(tags)
        .register(registry);
  }

  private double snapshotAgeSeconds() {
    Long millis = node.status(shard).snapshotAgeMillis();
    return millis == null ? Double.NaN : millis / 1000.0;
  }

  private double applied(ClusterStatus.Group group) {
    for (ClusterStatus.Member member : group.members()) {
      Long applied = member.appliedIndex();
      if (member.node().equals(node.nodeId()) && applied != null) {
        return applied;
      }
    }
    return Double.NaN;
  }

  private void add(
      MeterRegistry registry,
      Tags tags,
      String name,
      String description,
      ToDoubleFunction<ClusterStatus.Group> figure) {
    Gauge.builder("kvsep.cluster." + name, node, any -> figure.applyAsDouble(any.status(shard)))
        .description(description)
        .tags(tags)
        .register(registry);
  }
}
