package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When a leader makes its log shorter. */
@Timeout(120)
final class FollowerBehindTest {
  @TempDir Path directory;

  @Test
  void aLogGrowsForAFollowerButNotForEver() {
    assertFalse(RaftNode.isSnapshotDue(99, 1, 100, () -> false));
    assertTrue(RaftNode.isSnapshotDue(100, 1, 100, () -> false));
    assertFalse(RaftNode.isSnapshotDue(100, 1, 100, () -> true));
    assertFalse(RaftNode.isSnapshotDue(1_599, 1, 100, () -> true));
    assertTrue(RaftNode.isSnapshotDue(1_600, 1, 100, () -> true));
    assertTrue(RaftNode.isSnapshotDue(Long.MAX_VALUE, 1, 1, () -> true));
  }

  /** Each takes some heap, however short it is. */
  @Test
  void aLogHasABoundedNumberOfEntries() {
    assertFalse(RaftNode.isSnapshotDue(99, 249_999, 100, () -> false));
    assertTrue(RaftNode.isSnapshotDue(99, 250_000, 100, () -> true));
  }

  @Test
  void theLeaderKeepsItsLogUntilAFollowerHasCaughtUp() throws Exception {
    try (TestGroup group =
        new TestGroup(
            directory,
            3,
            options ->
                options
                    .preservedEntries(0)
                    .snapshotLogBytes(8 << 20)
                    .electionTimeout(Duration.ofSeconds(1), Duration.ofSeconds(2))
                    // So long a stopped follower counts as one that answers.
                    .requestTimeout(Duration.ofMinutes(2)))) {
      ReplicatedStore leader = group.leader();
      long term = leader.term();
      String behind = group.follower().nodeId();
      group.stop(behind);
      putSmall(leader, leader.committedIndex() + 1_100);
      for (int i = 0; i < 12; i++) {
        leader.store().put(bytes("k" + i), new byte[900_000]);
      }
      ReplicatedStore other = group.follower();
      TestGroup.await(() -> other.machine().getLatestSnapshot() != null);
      leader.store().put(bytes("k"), bytes("v"));
      assumeTrue(leader.term() == term, "an election");
      assertNull(leader.machine().getLatestSnapshot());
      assertEquals(0, leader.firstLogIndex());

      ReplicatedStore back = group.start(behind);
      TestGroup.await(() -> back.appliedIndex() >= leader.committedIndex());
      TestGroup.await(
          () -> {
            leader.store().put(bytes("k"), bytes("w"));
            return leader.machine().getLatestSnapshot() != null;
          });
      TestGroup.await(() -> leader.firstLogIndex() > 0);
    }
  }

  private static void putSmall(ReplicatedStore node, long index) {
    List<CompletableFuture<Void>> writers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      byte[] key = bytes("small" + i);
      writers.add(
          CompletableFuture.runAsync(
              () -> {
                while (node.committedIndex() < index) {
                  node.store().put(key, key);
                }
              },
              work -> new Thread(work).start()));
    }
    writers.forEach(CompletableFuture::join);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
