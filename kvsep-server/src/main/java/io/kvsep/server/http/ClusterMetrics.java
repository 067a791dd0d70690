package io.kvsep.server.http;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.ToDoubleFunction;

/** Meters of a node of a cluster, {@code kvsep.cluster.…}. */
final class ClusterMetrics {
  private final ClusterNode node;

  private ClusterMetrics(ClusterNode node) {
    this.node = node;
  }

  static void bind(ClusterNode node, MeterRegistry registry) {
    ClusterMetrics metrics = new ClusterMetrics(node);
    metrics.add(
        registry,
        "leader",
        "1 on the leader, else 0",
        group -> node.nodeId().equals(group.leader()) ? 1 : 0);
    metrics.add(registry, "members", "Members of the cluster", group -> group.members().size());
    metrics.add(registry, "term", "Number of the election", ClusterStatus.Group::term);
    metrics.add(
        registry,
        "commit.index",
        "Entries of the log that are committed",
        ClusterStatus.Group::commitIndex);
    metrics.add(registry, "applied.index", "Entries that this node has applied", metrics::applied);
    metrics.add(
        registry,
        "lag",
        "Committed entries that this node has not applied",
        group -> Math.max(0, group.commitIndex() - metrics.applied(group)));
    Gauge.builder("kvsep.cluster.snapshot.age", node, ClusterMetrics::snapshotAgeSeconds)
        .description("Age of the last snapshot of this node")
        .baseUnit("seconds")
        .register(registry);
  }

  private static double snapshotAgeSeconds(ClusterNode node) {
    Long millis = node.status().groups().get(0).snapshotAgeMillis();
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
      String name,
      String description,
      ToDoubleFunction<ClusterStatus.Group> figure) {
    Gauge.builder(
            "kvsep.cluster." + name,
            node,
            any -> figure.applyAsDouble(any.status().groups().get(0)))
        .description(description)
        .register(registry);
  }
}
