package io.kvsep.internal.load;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.StoreStats;
import io.kvsep.VerifyReport;
import io.kvsep.error.StorageException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CountingStorage;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.RefusingScheduler;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files, memory and threads of a load that is at work. */
final class BulkLoadWorkTest {
  private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final CrashableStorage storage = new CrashableStorage();

  private static byte[] key(int n) {
    return String.format("key%06d", n).getBytes(UTF_8);
  }

  /** Beside its key, in order, or as it comes. */
  private static byte[] value(int n) {
    int[] lengths = {20, 90, 200};
    byte[] value = new byte[n % 97 == 0 ? 18_000 : lengths[n % lengths.length]];
    new Random(n).nextBytes(value);
    return value;
  }

  /** Entries; before each something else is done. */
  private static final class Load implements LoadSource {
    private final int count;
    private final IntUnaryOperator order;
    private final Runnable before;
    private int next;
    private int current;

    Load(int count, IntUnaryOperator order, Runnable before) {
      this.count = count;
      this.order = order;
      this.before = before;
    }

    @Override
    public boolean next() {
      before.run();
      if (next == count) {
        return false;
      }
      current = order.applyAsInt(next++);
      return true;
    }

    @Override
    public byte[] key() {
      return BulkLoadWorkTest.key(current);
    }

    @Override
    public byte[] value() {
      return BulkLoadWorkTest.value(current);
    }

    @Override
    public long expiresAtMillis() {
      return Payload.NEVER;
    }
  }

  private static IntUnaryOperator shuffled(int count) {
    // Prime, and no divisor of the counts used here.
    return n -> (int) (n * 7919L % count);
  }

  private static void requireAll(StorageEngine engine, int count) {
    for (int n = 0; n < count; n++) {
      assertArrayEquals(value(n), engine.reads().get(0, key(n), StoreReads.LATEST), "key " + n);
    }
    VerifyReport verified = engine.verify();
    // A compaction in the background may be making one.
    long deadline = System.nanoTime() + WAIT_NANOS;
    while (!verified.unknownFiles().isEmpty() && System.nanoTime() - deadline < 0) {
      verified = engine.verify();
    }
    assertEquals(List.of(), verified.problems());
    assertEquals(List.of(), verified.unknownFiles());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void noFileOfALoadIsUnknownMeanwhile(boolean sorted) {
    int count = 900;
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      int[] most = new int[1];
      Runnable look =
          () -> {
            assertEquals(List.of(), engine.verify().unknownFiles());
            most[0] = Math.max(most[0], engine.loads().files().size());
          };
      engine.loads().load(0, new Load(count, sorted ? n -> n : shuffled(count), look));
      assertTrue(most[0] > 10, "only " + most[0] + " files");
      assertEquals(0, engine.loads().files().size());
      requireAll(engine, count);
    }
  }

  /** Runs as well as what they are merged into, also of a load that came to nothing. */
  @Test
  void whatWasOnlyWrittenToBeMergedCountsAsWritten() {
    int count = 900;
    CountingStorage counting = new CountingStorage(storage);
    try (StorageEngine engine = Engines.open(counting, new ManualScheduler(1, 1))) {
      requireAllCounted(engine.stats(), counting);
      engine.loads().load(0, new Load(count, shuffled(count), () -> {}));
      requireAllCounted(engine.stats(), counting);
      assertTrue(counting.bytesWritten(Kind.TABLE) > 1.9 * engine.stats().tableBytes());

      storage.failAt(1, Fault.EIO, /* sticky= */ true, operation -> operation == Operation.SYNC);
      assertThrows(
          StorageException.class,
          () -> engine.loads().load(0, new Load(count, shuffled(count), () -> {})));
      requireAllCounted(engine.stats(), counting);
      storage.clearFaults();
    }
  }

  private static void requireAllCounted(StoreStats stats, CountingStorage counting) {
    long log = counting.bytesWritten(Kind.SEGMENT);
    assertEquals(log, stats.logBytesWritten());
    long others =
        counting.bytesWritten(Kind.TABLE)
            + counting.bytesWritten(Kind.MANIFEST)
            + counting.bytesWritten(Kind.TEMPORARY)
            + counting.bytesWritten(Kind.CURRENT);
    assertEquals(log + others, stats.deviceBytesWritten());
  }

  /** Runs are merged so many at a time as there is memory for. */
  @Test
  void memoryDoesNotGrowWithTheNumberOfRuns() {
    long few = peakBytes(300);
    long many = peakBytes(40_000);
    // The memory of tables being written grows with the table, and never beyond one.
    assertTrue(many < few + (48 << 10), "peak " + many + ", with few runs " + few);
  }

  private static long peakBytes(int count) {
    try (StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      engine.loads().load(0, new Load(count, shuffled(count), () -> {}));
      long peak = engine.stats().memoryPeakBytes();
      requireAll(engine, count);
      return peak;
    }
  }

  @Test
  void withoutAThreadTheCallerWritesItself() {
    RefusingScheduler scheduler = new RefusingScheduler(new ManualScheduler(1, 1));
    scheduler.refuse(Lane.LOAD, Lane.READ);
    try (StorageEngine engine = Engines.open(storage, scheduler)) {
      engine.loads().load(0, new Load(900, shuffled(900), () -> {}));
      requireAll(engine, 900);
    }
  }

  /** What it has written is given back, and with that there is space for all the rest. */
  @Test
  void aLoadForWhoseEditThereIsNoSpaceLeavesNoFullDisk() {
    int writes = manifestWritesOfALoad();
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      engine.writes().put(0, key(1), value(1), 0);
      int[] seen = new int[1];
      storage.failAt(
          1,
          Fault.ENOSPC,
          /* sticky= */ false,
          (operation, name) -> {
            // The load's edit, behind which there is its mark.
            boolean edit = isManifestWrite(operation, name) && ++seen[0] == writes - 1;
            if (edit) {
              storage.capacityBytes(storage.usedBytes());
            }
            return edit;
          });
      assertThrows(
          StorageException.class,
          () -> engine.loads().load(0, new Load(900, shuffled(900), () -> {})));
      assertEquals(writes - 1, seen[0]);
      engine.writes().put(0, key(2), value(2), 0);
      engine.flush();
      requireOnlyTwo(engine);
    }
    try (StorageEngine engine =
        Engines.open(storage.crashKeepingAll(), new ManualScheduler(1, 1))) {
      requireOnlyTwo(engine);
    }
  }

  private static int manifestWritesOfALoad() {
    CrashableStorage twin = new CrashableStorage();
    int[] writes = new int[1];
    try (StorageEngine engine = Engines.open(twin, new ManualScheduler(1, 1))) {
      engine.writes().put(0, key(1), value(1), 0);
      twin.failAt(
          Long.MAX_VALUE,
          Fault.EIO,
          /* sticky= */ false,
          (operation, name) -> {
            writes[0] += isManifestWrite(operation, name) ? 1 : 0;
            return false;
          });
      engine.loads().load(0, new Load(900, shuffled(900), () -> {}));
      return writes[0];
    }
  }

  private static boolean isManifestWrite(Operation operation, String name) {
    return operation == Operation.WRITE && StoreFiles.kindOf(name) == Kind.MANIFEST;
  }

  private static void requireOnlyTwo(StorageEngine engine) {
    for (int n = 0; n < 5; n++) {
      byte[] expected = n == 1 || n == 2 ? value(n) : null;
      assertArrayEquals(expected, engine.reads().get(0, key(n), StoreReads.LATEST), "key " + n);
    }
    VerifyReport verified = engine.verify();
    assertEquals(List.of(), verified.problems());
    assertEquals(List.of(), verified.unknownFiles());
  }

  /** The input would never end. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anErrorOfTheOtherThreadIsTheLoads(boolean tables) throws IOException {
    try (StorageEngine engine = Engines.open(storage, new ThreadScheduler(2))) {
      engine.loads().load(0, new Load(100, n -> n, () -> {}));
      List<String> before = storage.list();
      storage.failAt(
          5,
          Fault.ENOSPC,
          /* sticky= */ true,
          (operation, name) ->
              operation == Operation.WRITE && name.endsWith(tables ? ".sst" : ".vlog"));
      assertThrows(
          StorageException.class,
          () -> engine.loads().load(0, new Load(Integer.MAX_VALUE, n -> n % 1_000_000, () -> {})));
      storage.clearFaults();
      assertEquals(before, storage.list());
      long held = engine.stats().memoryBytes().getOrDefault("bulk_load", -1L);
      assertEquals(0L, held);
      engine.loads().load(0, new Load(900, shuffled(900), () -> {}));
      requireAll(engine, 900);
    }
  }

  /** While a piece is being written, and while one waits to be. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anErrorOfTheIteratorEndsThePieceAtWork(boolean threads) throws IOException {
    Scheduler scheduler = threads ? new ThreadScheduler(2) : new ManualScheduler(1, 1);
    try (StorageEngine engine = Engines.open(storage, scheduler)) {
      List<String> before = storage.list();
      for (int end : new int[] {5, 100, 101, 500}) {
        int[] asked = new int[1];
        Runnable failing =
            () -> {
              if (asked[0]++ == end) {
                throw new IllegalArgumentException("on purpose");
              }
            };
        assertThrows(
            IllegalArgumentException.class,
            () -> engine.loads().load(0, new Load(900, shuffled(900), failing)));
        assertEquals(before, storage.list());
      }
      engine.loads().load(0, new Load(900, shuffled(900), () -> {}));
      requireAll(engine, 900);
    }
  }
}
