package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.WriteBuffer;
import io.kvsep.testing.ManualClock;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys.Log.CorruptionPolicy;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.server.storage.RaftStorageDirectory;
import org.apache.ratis.server.storage.RaftStorageMetadataFile;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class GroupStateMachineTest {
  @TempDir Path directory;

  /**
   * Ratis lets linearizable readers go on when it has passed on an entry that is not for the
   * machine, such as that of a new leader, though earlier ones may still wait to be applied.
   */
  @Test
  void entryOfRatisWaitsForEarlierOnes() throws Exception {
    TestHost host = new TestHost();
    try (GroupStateMachine machine = start(host)) {
      CompletableFuture<Message> done = machine.applyTransaction(put(machine, 0, "k", "v"));
      CountDownLatch entered = new CountDownLatch(1);
      CompletableFuture<Void> notified =
          CompletableFuture.runAsync(
              () -> {
                entered.countDown();
                machine.notifyTermIndexUpdated(1, 1);
                assertArrayEquals(bytes("v"), machine.live().store().get(bytes("k")));
              });
      entered.await();
      assertTrue(host.committing.await(30, TimeUnit.SECONDS));
      assertFalse(notified.isDone());
      assertFalse(done.isDone());
      assertNull(machine.live().store().get(bytes("k")));
      host.mayCommit.countDown();
      notified.join();
      assertTrue(done.isDone());
      assertEquals(1, machine.getLastAppliedTermIndex().getIndex());
    }
  }

  @Test
  void staleReadIsAnsweredWhenItsIndexIsPassed() throws Exception {
    TestHost host = new TestHost();
    host.mayCommit.countDown();
    try (GroupStateMachine machine = start(host)) {
      CompletableFuture<Message> read = machine.queryStale(Message.EMPTY, 5);
      machine.notifyTermIndexUpdated(1, 20);
      read.get(30, TimeUnit.SECONDS);
      assertTrue(machine.awaitApplied(20, Duration.ZERO));
      assertFalse(machine.awaitApplied(21, Duration.ZERO));
    }
  }

  @Test
  void errorWhileApplyingStopsTheNode() throws Exception {
    TestHost host = new TestHost();
    host.fails = true;
    host.mayCommit.countDown();
    try (GroupStateMachine machine = start(host)) {
      CompletableFuture<Message> done = machine.applyTransaction(put(machine, 0, "k", "v"));
      assertNotNull(host.failed.get(30, TimeUnit.SECONDS));
      assertFalse(done.isDone(), "its client asks another node");
      assertThrows(
          IllegalStateException.class, () -> machine.applyTransaction(put(machine, 1, "k", "v")));
      assertThrows(RuntimeException.class, () -> machine.notifyTermIndexUpdated(1, 2));
    }
  }

  @Test
  void snapshotHasWhatWasAppliedAndIsLeftAlone() throws Exception {
    TestHost host = new TestHost();
    host.mayCommit.countDown();
    Path snapshot = directory.resolve("sm/snapshot.1_1");
    try (GroupStateMachine machine = start(host)) {
      machine.applyTransaction(put(machine, 0, "k", "v")).join();
      machine.notifyTermIndexUpdated(1, 1);
      assertEquals(1, machine.takeSnapshot());
      machine.applyTransaction(put(machine, 2, "k", "later")).join();
    }
    List<String> files = names(snapshot);
    GroupStorage.delete(directory.resolve("store"));
    try (GroupStateMachine machine = start(host)) {
      assertEquals(1, machine.getLastAppliedTermIndex().getIndex());
      assertArrayEquals(bytes("v"), machine.live().store().get(bytes("k")));
      machine.applyTransaction(put(machine, 2, "k", "later")).join();
    }
    assertEquals(files, names(snapshot));
  }

  /** Ratis stops a node whose snapshot is further than what it has passed on. */
  @Test
  void noSnapshotIsFurtherThanTheReplay() throws Exception {
    TestHost host = new TestHost();
    host.mayCommit.countDown();
    try (GroupStateMachine machine = start(host)) {
      machine.applyTransaction(put(machine, 0, "k", "v")).join();
      machine.applyTransaction(put(machine, 1, "k", "w")).join();
    }
    try (GroupStateMachine machine = start(host)) {
      machine.applyTransaction(put(machine, 0, "k", "v")).join();
      assertEquals(-1, machine.takeSnapshot());
      machine.applyTransaction(put(machine, 1, "k", "w")).join();
      assertEquals(1, machine.takeSnapshot());
      assertArrayEquals(bytes("w"), machine.live().store().get(bytes("k")));
    }
  }

  private static List<String> names(Path snapshot) throws IOException {
    try (var files = Files.walk(snapshot)) {
      return files.map(snapshot::relativize).map(Path::toString).sorted().toList();
    }
  }

  private GroupStateMachine start(TestHost host) throws IOException {
    GroupStateMachine machine = new GroupStateMachine(host);
    Files.createDirectories(directory.resolve("sm"));
    machine.initialize(server(), RaftGroupId.randomId(), new TestRaftStorage(directory.toFile()));
    return machine;
  }

  /** Has a name, and nothing else. */
  private static RaftServer server() {
    return (RaftServer)
        Proxy.newProxyInstance(
            RaftServer.class.getClassLoader(),
            new Class<?>[] {RaftServer.class},
            (self, method, arguments) -> RaftPeerId.valueOf("a"));
  }

  private static TransactionContext put(
      GroupStateMachine machine, long index, String key, String value) {
    RequestWriter request = new RequestWriter(1 << 20);
    request.put(null, bytes(key), bytes(value));
    byte[] entry = History.entry(1, List.of(request.toBytes()));
    LogEntryProto proto =
        LogEntryProto.newBuilder()
            .setTerm(1)
            .setIndex(index)
            .setStateMachineLogEntry(
                StateMachineLogEntryProto.newBuilder()
                    .setLogData(UnsafeByteOperations.unsafeWrap(entry)))
            .build();
    return TransactionContext.newBuilder()
        .setStateMachine(machine)
        .setServerRole(RaftPeerRole.FOLLOWER)
        .setLogEntry(proto)
        .build();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  /** Whose store commits when it may. */
  private static final class TestHost implements GroupStateMachine.Host {
    final CountDownLatch committing = new CountDownLatch(1);
    final CountDownLatch mayCommit = new CountDownLatch(1);
    final CompletableFuture<Throwable> failed = new CompletableFuture<>();
    volatile boolean fails;

    @Override
    public GroupClock newClock() {
      return new GroupClock(new ManualClock(1));
    }

    @Override
    public KvStore open(Path store, GroupClock clock) {
      KvStore real =
          KvStore.open(store, KvOptions.builder().memoryBudgetBytes(16 << 20).clock(clock).build());
      return proxy(
          KvStore.class,
          real,
          (name, result) ->
              name.equals("buffer")
                  ? proxy(
                      WriteBuffer.class,
                      (WriteBuffer) Objects.requireNonNull(result),
                      this::beforeCommit)
                  : result);
    }

    private @Nullable Object beforeCommit(String name, @Nullable Object result) {
      return result;
    }

    @Override
    public void logGrew(long bytes) {}

    @Override
    public void failed(Throwable cause) {
      failed.complete(cause);
    }

    private interface After {
      @Nullable Object call(String name, @Nullable Object result);
    }

    private <T> T proxy(Class<T> type, T target, After after) {
      return type.cast(
          Proxy.newProxyInstance(
              type.getClassLoader(),
              new Class<?>[] {type},
              (self, method, arguments) -> {
                if (target instanceof WriteBuffer && method.getName().equals("commit")) {
                  committing.countDown();
                  mayCommit.await();
                  if (fails) {
                    throw new IllegalStateException("a commit that fails");
                  }
                }
                try {
                  return after.call(method.getName(), method.invoke(target, arguments));
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              }));
    }
  }

  private record TestRaftStorage(File root) implements RaftStorage {
    @Override
    public void initialize() {}

    @Override
    public RaftStorageDirectory getStorageDir() {
      return new RaftStorageDirectory() {
        @Override
        public File getRoot() {
          return root;
        }

        @Override
        public boolean isHealthy() {
          return true;
        }
      };
    }

    @Override
    public @Nullable RaftStorageMetadataFile getMetadataFile() {
      return null;
    }

    @Override
    public CorruptionPolicy getLogCorruptionPolicy() {
      return CorruptionPolicy.getDefault();
    }

    @Override
    public void close() {}
  }
}
