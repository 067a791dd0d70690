package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoresOnStorage;
import io.kvsep.error.KvException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
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

  /** An entry of a few bytes takes some hundred while it waits. */
  @Test
  void waitingEntriesAreCountedWithWhatTheyTakeBesidesTheirBytes() throws Exception {
    TestHost host = new TestHost();
    int entries = 60_000;
    try (GroupStateMachine machine = start(host)) {
      AtomicInteger passedOn = new AtomicInteger();
      AtomicReference<CompletableFuture<Message>> last = new AtomicReference<>();
      Thread updater =
          new Thread(
              () -> {
                for (int i = 0; i < entries; i++) {
                  last.set(machine.applyTransaction(put(machine, i, "k", "v")));
                  passedOn.incrementAndGet();
                }
              });
      updater.start();
      TestGroup.await(() -> updater.getState() == Thread.State.WAITING || !updater.isAlive());
      // 16 MiB that wait and 1 MiB that is being applied, of 512 bytes and more each.
      int most = (17 << 20) / 512 + 1;
      assertTrue(passedOn.get() <= most, passedOn + " entries wait");
      host.mayCommit.countDown();
      updater.join();
      last.get().get(30, TimeUnit.SECONDS);
      assertEquals(entries - 1, machine.getLastAppliedTermIndex().getIndex());
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

  /** Ratis has the whole log, and gives it to the machine again. */
  @Test
  void powerFailureOfTheStoreIsMadeUpByTheLog() {
    Seeds.some(
        GroupStateMachineTest.class,
        100,
        2,
        random -> {
          List<byte[]> log = History.draw(random, 40);
          TestHost host = new TestHost();
          host.mayCommit.countDown();
          Map<String, String> expected;
          try (GroupStateMachine machine = start(host)) {
            applyAll(machine, log);
            expected = machine.live().digests();
          }
          GroupStorage.delete(directory.resolve("store"));
          CrashableStorage storage = new CrashableStorage();
          host.storage = storage;
          GroupStateMachine lost = start(host);
          applyAll(lost, log.subList(0, random.nextInt(log.size())));
          host.storage = random.nextBoolean() ? storage.crash(random) : storage.crashSyncedOnly();
          closeAfterCrash(lost);
          try (GroupStateMachine machine = start(host)) {
            applyAll(machine, log);
            assertEquals(expected, machine.live().digests());
          }
        });
  }

  @Test
  void fullDiskStopsTheNodeAndLosesNothing() throws Exception {
    TestHost host = new TestHost();
    host.mayCommit.countDown();
    CrashableStorage storage = new CrashableStorage();
    host.storage = storage;
    GroupStateMachine full = start(host);
    int applied = 0;
    String value =
        new Random(1)
            .ints(100_000, 0, 64)
            .mapToObj(i -> Character.toString(' ' + i))
            .collect(Collectors.joining());
    storage.capacityBytes(storage.usedBytes() + 1_000_000);
    while (!host.failed.isDone()) {
      assertTrue(applied < 100, "a node on a full disk goes on");
      CompletableFuture<Message> done =
          full.applyTransaction(put(full, applied, "k" + applied, value));
      CompletableFuture.anyOf(done, host.failed).join();
      applied += done.isDone() ? 1 : 0;
    }
    host.storage = storage.crashKeepingAll();
    host.storage.capacityBytes(Long.MAX_VALUE);
    closeAfterCrash(full);
    try (GroupStateMachine machine = start(host)) {
      for (int i = 0; i <= applied; i++) {
        machine.applyTransaction(put(machine, i, "k" + i, value)).join();
      }
      for (int i = 0; i <= applied; i++) {
        assertTrue(machine.live().store().contains(bytes("k" + i)), "k" + i);
      }
    }
  }

  /** It does not start; without the damaged store it takes the snapshot. */
  @Test
  void damagedStoreIsBuiltAgainFromTheSnapshot() throws Exception {
    TestHost host = new TestHost();
    host.mayCommit.countDown();
    try (GroupStateMachine machine = start(host)) {
      machine.applyTransaction(put(machine, 0, "k", "v")).join();
      assertEquals(0, machine.takeSnapshot());
    }
    Path store = directory.resolve("store");
    Files.writeString(store.resolve("CURRENT"), "damaged");
    assertThrows(KvException.class, () -> start(host));
    GroupStorage.delete(store);
    try (GroupStateMachine machine = start(host)) {
      assertEquals(0, machine.getLastAppliedTermIndex().getIndex());
      assertArrayEquals(bytes("v"), machine.live().store().get(bytes("k")));
    }
  }

  private static void applyAll(GroupStateMachine machine, List<byte[]> log) {
    CompletableFuture<Message> last = CompletableFuture.completedFuture(Message.EMPTY);
    for (int i = 0; i < log.size(); i++) {
      last = machine.applyTransaction(transaction(machine, i, log.get(i)));
    }
    last.join();
  }

  private static void closeAfterCrash(GroupStateMachine machine) throws IOException {
    try {
      machine.close();
    } catch (KvException e) {
      // Its storage is gone.
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
    return transaction(machine, index, History.entry(1, List.of(request.toBytes())));
  }

  private static TransactionContext transaction(
      GroupStateMachine machine, long index, byte[] entry) {
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

    /** Instead of the directory of the live store. */
    volatile @Nullable CrashableStorage storage;

    @Override
    public GroupClock newClock() {
      return new GroupClock(new ManualClock(1));
    }

    @Override
    public KvStore open(Path store, GroupClock clock) {
      KvOptions options =
          KvOptions.builder()
              .memoryBudgetBytes(16 << 20)
              .durability(Durability.none())
              .clock(clock)
              .build();
      CrashableStorage instead = storage;
      KvStore real =
          instead == null ? KvStore.open(store, options) : StoresOnStorage.open(instead, options);
      return (KvStore)
          Proxy.newProxyInstance(
              KvStore.class.getClassLoader(),
              new Class<?>[] {KvStore.class},
              (self, method, arguments) -> {
                if (method.getName().equals("writeVersioned")) {
                  committing.countDown();
                  // Not for ever: closing waits for this.
                  assertTrue(mayCommit.await(10, TimeUnit.SECONDS));
                  if (fails) {
                    throw new IllegalStateException("a commit that fails");
                  }
                }
                try {
                  return method.invoke(real, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }

    @Override
    public void logGrew(long bytes, long entries) {}

    @Override
    public void failed(Throwable cause) {
      failed.complete(cause);
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
