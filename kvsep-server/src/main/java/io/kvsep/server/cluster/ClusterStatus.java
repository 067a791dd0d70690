package io.kvsep.server.cluster;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A cluster as one node knows it.
 *
 * @param cluster name of the cluster
 * @param node name of the node that tells
 */
public record ClusterStatus(String cluster, String node, List<Group> groups) {
  /**
   * One group of nodes with a common log.
   *
   * @param leader null while the node knows none
   * @param commitIndex of the leader, as far as the node knows
   * @param snapshotAgeMillis age of the node's last snapshot, null if it has none
   */
  public record Group(
      int shard,
      @Nullable String leader,
      long term,
      long commitIndex,
      @Nullable Long snapshotAgeMillis,
      List<Member> members) {}

  /**
   * A member of a group.
   *
   * @param role LEADER, FOLLOWER, CANDIDATE or OUTSIDE; null when unknown
   * @param appliedIndex of another node, the index up to which it knows entries to be committed;
   *     null when unknown
   */
  public record Member(
      String node, String address, @Nullable String role, @Nullable Long appliedIndex) {}
}
