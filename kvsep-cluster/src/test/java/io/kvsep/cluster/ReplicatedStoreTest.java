package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.kvsep.error.StoreClosedException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class ReplicatedStoreTest {
  @TempDir Path directory;

  @Test
  void singleNodeKeepsItsContentAcrossARestart() throws Exception {
    try (TestGroup group = new TestGroup(directory, 1)) {
      ReplicatedStore node = group.node("a");
      KvStore store = node.store();
      Keyspace users = store.keyspace("users");
      long index =
          node.write(
              new WriteBatch().put(bytes("k"), bytes("v")).in(users).put(bytes("u"), bytes("w")));
      assertArrayEquals(bytes("v"), store.get(bytes("k")));
      assertTrue(node.appliedIndex() > index, "the read waited for an entry of its own");
      assertArrayEquals(bytes("w"), store.in(users).get(bytes("u")));
      assertEquals(List.of("users"), store.keyspaces());
      assertTrue(node.await(index, Duration.ZERO));
      group.stop("a");
      assertThrows(StoreClosedException.class, () -> store.get(bytes("k")));
      group.start("a");
      KvStore again = group.node("a").store();
      assertArrayEquals(bytes("v"), again.get(bytes("k")));
      assertArrayEquals(bytes("w"), again.in(again.keyspace("users")).get(bytes("u")));
    }
  }

  /** Without a majority, and with a minute left. */
  private static void assertClosingEndsCalls(TestGroup group) throws Exception {
    while (group.nodes().size() > 1) {
      group.stop(group.nodes().iterator().next().nodeId());
    }
    ReplicatedStore left = group.nodes().iterator().next();
    List<CompletableFuture<Throwable>> calls = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      byte[] key = bytes("k" + i);
      calls.add(failure(() -> left.store().put(key, key)));
      calls.add(failure(() -> left.store().get(key)));
    }
    group.stop(left.nodeId());
    for (CompletableFuture<Throwable> call : calls) {
      Throwable thrown = call.get(10, TimeUnit.SECONDS);
      assertInstanceOf(ClusterException.class, thrown);
    }
  }

  /** Returns when the call has begun. */
  private static CompletableFuture<Throwable> failure(Runnable call) throws InterruptedException {
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                call.run();
                failure.completeExceptionally(new AssertionError("the call returned"));
              } catch (RuntimeException e) {
                failure.complete(e);
              }
            });
    thread.start();
    TestGroup.await(() -> thread.getState() == Thread.State.WAITING || !thread.isAlive());
    return failure;
  }

  /**
   * The old leader comes back when the others have no longer the entries that it lacks: their logs
   * are so long that they have made snapshots.
   */
  @Test
  void groupOutlivesItsLeader() throws Exception {
    try (TestGroup group =
        new TestGroup(
            directory,
            3,
            options ->
                options
                    .preservedEntries(0)
                    .snapshotLogBytes(5_000_000)
                    .requestTimeout(Duration.ofMinutes(1)))) {
      ReplicatedStore first = group.leader();
      long term = first.term();
      assertEquals(Set.of("a", "b", "c"), first.members().keySet());
      Keyspace before = first.store().keyspace("users");
      for (ReplicatedStore node : group.nodes()) {
        node.store().put(bytes("from " + node.nodeId()), bytes("v"));
      }
      for (ReplicatedStore node : group.nodes()) {
        for (String writer : first.members().keySet()) {
          assertArrayEquals(bytes("v"), node.store().get(bytes("from " + writer)));
        }
      }
      group.stop(first.nodeId());

      KvStore store = group.nodes().iterator().next().store();
      Keyspace users = store.keyspace("users");
      // Whole segments of the log are deleted, and one is longer than two requests.
      for (int i = 0; i < 8; i++) {
        store.write(
            new WriteBatch()
                .put(bytes("k" + i), new byte[900_000])
                .in(users)
                .put(bytes("u"), bytes("" + i)));
      }
      ReplicatedStore second = group.leader();
      assertNotEquals(first.nodeId(), second.nodeId());
      assertTrue(second.term() > term);
      assertArrayEquals(bytes("v"), store.get(bytes("from " + first.nodeId())));
      for (ReplicatedStore node : group.nodes()) {
        TestGroup.await(() -> node.machine().getLatestSnapshot() != null);
        TestGroup.await(() -> node.firstLogIndex() > 0);
      }
      store.put(bytes("after"), bytes("v"));

      ReplicatedStore back = group.start(first.nodeId());
      KvStore now = back.store();
      assertArrayEquals(bytes("v"), now.get(bytes("after")));
      assertNotNull(back.machine().getLatestSnapshot());
      assertArrayEquals(bytes("7"), now.in(before).get(bytes("u")), "a keyspace is its name");
      assertSameContent(group);
      assertClosingEndsCalls(group);
    }
  }

  @Test
  void membersAreAddedAndRemoved() throws Exception {
    try (TestGroup group = new TestGroup(directory, 1)) {
      ReplicatedStore first = group.node("a");
      first.store().put(bytes("k"), bytes("v"));
      ReplicatedStore joined = group.startJoining("b");
      assertEquals(Role.OUTSIDE, joined.role());
      first.add("b", group.address("b"));
      first.add("b", group.address("b"));
      assertThrows(IllegalStateException.class, () -> first.add("b", "127.0.0.1:1"));
      assertEquals(Map.of("a", group.address("a"), "b", group.address("b")), first.members());
      assertArrayEquals(bytes("v"), joined.store().get(bytes("k")));
      joined.store().put(bytes("k"), bytes("w"));
      first.transferLeadership("b");
      assertEquals(Role.LEADER, group.leader().role());
      joined.remove("a");
      assertEquals(Set.of("b"), joined.members().keySet());
      group.stop("a");
      joined.store().put(bytes("alone"), bytes("v"));
      assertArrayEquals(bytes("w"), joined.store().get(bytes("k")));
    }
  }

  /** It would elect itself, or count in a majority that it is not part of. */
  @Test
  void aNodeThatJoinsIsNoMemberAfterARestart() throws Exception {
    try (TestGroup group = new TestGroup(directory, 1)) {
      ReplicatedStore first = group.node("a");
      first.store().put(bytes("k"), bytes("v"));
      group.startJoining("b");
      group.stop("b");
      ReplicatedStore again = group.start("b");
      assertEquals(Role.OUTSIDE, again.role());
      assertEquals(Map.of(), again.members());
      first.add("b", group.address("b"));
      assertArrayEquals(bytes("v"), again.store().get(bytes("k")));
      group.stop("b");
      ReplicatedStore member = group.start("b");
      assertEquals(Set.of("a", "b"), member.members().keySet());
      assertArrayEquals(bytes("v"), member.store().get(bytes("k")));
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
  void theLongestRequestIsWritten() throws Exception {
    int bytesMax = 48 << 20;
    try (TestGroup group =
        new TestGroup(directory, 2, options -> options.requestBytesMax(bytesMax))) {
      KvStore store = group.follower().store();
      byte[] value = new byte[bytesMax - 100];
      new Random(1).nextBytes(value);
      store.put(bytes("k"), value);
      store.put(bytes("l"), value);
      assertArrayEquals(value, store.get(bytes("k")));
      assertSameContent(group);
    }
  }

  /** Neither undoes the other. */
  @Test
  @EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
  void membersAreAddedAtTheSameTime() throws Exception {
    try (TestGroup group = new TestGroup(directory, 3)) {
      List<CompletableFuture<Void>> calls = new ArrayList<>();
      for (String name : List.of("d", "e")) {
        group.startJoining(name);
        ReplicatedStore asked = group.node(name.equals("d") ? "a" : "b");
        calls.add(CompletableFuture.runAsync(() -> asked.add(name, group.address(name))));
      }
      ReplicatedStore third = group.node("c");
      calls.add(CompletableFuture.runAsync(() -> third.transferLeadership("c")));
      calls.get(0).join();
      calls.get(1).join();
      third.store().get(bytes("k"));
      assertEquals(Set.of("a", "b", "c", "d", "e"), third.members().keySet());
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
  void allNodesRestart() throws Exception {
    try (TestGroup group = new TestGroup(directory, 3)) {
      group.follower().store().put(bytes("k"), bytes("v"));
      group.stopAll();
      for (String name : List.of("c", "b", "a")) {
        group.start(name);
      }
      assertArrayEquals(bytes("v"), group.follower().store().get(bytes("k")));
      assertSameContent(group);
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "kvsep.exhaustive", matches = "true")
  void withoutMajorityCallsFailInTime() throws Exception {
    try (TestGroup group =
        new TestGroup(directory, 2, options -> options.requestTimeout(Duration.ofMillis(700)))) {
      group.leader().store().put(bytes("k"), bytes("v"));
      ReplicatedStore left = group.follower();
      left.store().get(bytes("k"));
      group.stop(group.leader().nodeId());
      ClusterException write =
          assertThrows(ClusterException.class, () -> left.store().put(bytes("k"), bytes("w")));
      assertTrue(write.isOutcomeUnknown());
      String told = String.valueOf(write.getMessage());
      assertTrue(told.contains("; a majority of {a=127.0.0.1:"), told);
      ClusterException read =
          assertThrows(ClusterException.class, () -> left.store().get(bytes("k")));
      assertFalse(read.isOutcomeUnknown());
      told = String.valueOf(read.getMessage());
      assertTrue(told.contains(" must run, this node knows "), told);
      assertArrayEquals(bytes("v"), left.get(bytes("k"), Consistency.stale(0)));
      group.start(left.nodeId().equals("a") ? "b" : "a");
      TestGroup.await(() -> left.leader().isPresent());
      left.store().put(bytes("k"), bytes("x"));
      assertArrayEquals(bytes("x"), left.store().get(bytes("k")));
    }
  }

  private static void assertSameContent(TestGroup group) {
    ReplicatedStore leader = group.leader();
    long index = leader.committedIndex();
    Map<String, String> expected = null;
    for (ReplicatedStore node : group.nodes()) {
      assertTrue(node.await(index, Duration.ofSeconds(60)));
      GroupStore store = node.machine().live();
      Map<String, String> digests = store.digests();
      if (expected != null) {
        assertEquals(expected, digests);
      }
      expected = digests;
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
