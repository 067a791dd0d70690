package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.cluster.ClusterStatus;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class ServedNodeStatusTest {
  @TempDir Path directory;

  /** No entry comes after the last write, so only heartbeats can tell who has it. */
  @Test
  void aMemberThatStoppedLagsUntilItsHeartbeatsSayOtherwise() throws Exception {
    try (TestGroup group = new TestGroup(directory, 3)) {
      byte[] key = "k".getBytes(UTF_8);
      group.leader().store().put(key, key);
      group.nodes().forEach(ServedNodeStatusTest::awaitNoLag);
      String stopped = group.follower().nodeId();
      group.stop(stopped);
      for (int i = 0; i < 5; i++) {
        group.nodes().iterator().next().store().put(key, key);
      }
      for (ReplicatedStore node : group.nodes()) {
        TestGroup.await(() -> lags(node).getOrDefault(stopped, -1L) >= 5);
        TestGroup.await(() -> lags(node).values().stream().filter(lag -> lag == 0).count() == 2);
      }
      group.start(stopped);
      group.nodes().forEach(ServedNodeStatusTest::awaitNoLag);
    }
  }

  private static void awaitNoLag(ReplicatedStore node) {
    TestGroup.await(() -> lags(node).values().stream().allMatch(lag -> lag == 0));
    assertEquals(3, lags(node).size());
  }

  private static Map<String, Long> lags(ReplicatedStore node) {
    ClusterStatus.Group group = new ServedNode("kvsep", node).status().groups().get(0);
    Map<String, Long> lags = new TreeMap<>();
    for (ClusterStatus.Member member : group.members()) {
      long applied = Objects.requireNonNullElse(member.appliedIndex(), -1L);
      assertTrue(applied >= -1, "index of " + member.node());
      lags.put(member.node(), Math.max(0, group.commitIndex() - applied));
    }
    return lags;
  }
}
