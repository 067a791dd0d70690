package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.StoreStats;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.txn.EngineTransaction;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A callback of a read runs for as long as it likes, and keeps nothing that the store lets go of
 * meanwhile: neither memory nor files. What it looks at stays as it was, also while the store is
 * being closed.
 */
final class CallbackTest {
  private static final int BUDGET_BYTES = 16 << 20;
  private static final int PUTS = 100_000;
  private static final int KEYS = 200;
  private static final int OVERWRITES = 3;
  private static final StoreStats.Pinned NOTHING = new StoreStats.Pinned(0, 0, 0, 0, 0);

  private final CrashableStorage storage = new CrashableStorage();

  /** Where the value lies that the callback looks at. */
  private enum Place {
    MEMTABLE(40, false, false),
    TABLE(40, true, false),
    UNMAPPED_LOG(600, false, false),
    MAPPED_LOG(600, true, false),
    LONG_RECORD(2 << 20, false, false),
    COMPRESSED_RECORD(4_000, true, true),
    LONG_COMPRESSED_RECORD(300_000, true, true);

    final int valueBytes;
    final boolean compacted;
    final boolean compresses;

    Place(int valueBytes, boolean compacted, boolean compresses) {
      this.valueBytes = valueBytes;
      this.compacted = compacted;
      this.compresses = compresses;
    }

    byte[] value() {
      byte[] value = new byte[valueBytes];
      if (compresses) {
        Arrays.fill(value, (byte) 17);
        value[valueBytes / 2] = 3;
      } else {
        new Random(valueBytes).nextBytes(value);
      }
      return value;
    }
  }

  private static byte[] key(int i) {
    return String.format("key-%08d", i).getBytes(UTF_8);
  }

  private static void overwriteAll(StorageEngine engine, int length) {
    byte[] value = new byte[length];
    for (int i = 0; i < KEYS; i++) {
      new Random(i).nextBytes(value);
      engine.writes().put(0, key(i), value, 0);
    }
  }

  @Test
  void memoryAndFilesStayWithinTheirBoundsWhileOneIsOpen() throws IOException {
    Shape shape = Shape.forBudget(BUDGET_BYTES, /* packsBlocks= */ true);
    byte[] value = new byte[300];
    try (StorageEngine engine =
        StorageEngine.open(
            ConfigDraft.of(Engines.config(storage, new ManualScheduler(1, 1)))
                .shape(shape)
                .inlineValueBytesMax(256)
                .segmentBytes(1 << 20)
                .build())) {
      engine.writes().put(0, key(0), value, 0);
      engine.flush();
      engine
          .reads()
          .read(
              0,
              key(0),
              StoreReads.LATEST,
              view -> {
                for (int i = 0; i < PUTS; i++) {
                  // Beside their keys, and now and then in the log.
                  byte[] next = i % 100 == 0 ? value : Arrays.copyOf(value, 200);
                  engine.writes().put(0, key(i % 1_000), next, 0);
                }
                engine.reclaim();
                StoreStats stats = engine.stats();
                assertTrue(
                    stats.memoryPeakBytes() <= BUDGET_BYTES,
                    () -> "off-heap memory peaked at " + stats.memoryPeakBytes());
                assertEquals(NOTHING, stats.pinned());
                assertOnlyFilesInForce(stats);
                assertEquals(ByteBuffer.wrap(value), view);
                return view.remaining();
              });
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatItLooksAtStaysWhateverTheStoreDoes(Place place) throws Exception {
    runBeside(place, (engine, reader) -> engine.reads().read(0, key(1), StoreReads.LATEST, reader));
  }

  @ParameterizedTest
  @EnumSource
  void theSameWithWhatIsKnownOfTheEntry(Place place) throws Exception {
    runBeside(
        place,
        (engine, reader) ->
            engine
                .reads()
                .readWithInfo(
                    0,
                    key(1),
                    StoreReads.LATEST,
                    Integer.MAX_VALUE,
                    (found, view) -> reader.apply(Objects.requireNonNull(view))));
  }

  @ParameterizedTest
  @EnumSource
  void theSameInATransaction(Place place) throws Exception {
    runBeside(
        place,
        (engine, reader) -> {
          EngineTransaction transaction = engine.begin();
          // Its snapshot keeps what it sees, and no file.
          transaction.read(0, key(1), reader);
        });
  }

  /** A value that is too long is not read, but its callback runs all the same. */
  @Test
  void oneWithoutAViewKeepsNothingEither() {
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(2, 1))) {
      overwriteAll(engine, 600);
      engine.compact();
      AtomicBoolean called = new AtomicBoolean();
      engine
          .reads()
          .readWithInfo(
              0,
              key(1),
              StoreReads.LATEST,
              /* valueBytesMax= */ 10,
              (found, view) -> {
                overwriteAll(engine, 600);
                engine.compact();
                assertEquals(NOTHING, engine.stats().pinned());
                called.set(view == null);
                return null;
              });
      assertTrue(called.get());
    }
  }

  private interface Call {
    void run(StorageEngine engine, Function<ByteBuffer, ByteBuffer> reader);
  }

  private void runBeside(Place place, Call call) throws Exception {
    byte[] expected = place.value();
    StorageEngine engine =
        StorageEngine.open(
            ConfigDraft.of(Engines.config(storage, new ManualScheduler(3, 1)))
                .segmentBytes(4 << 20)
                .build());
    overwriteAll(engine, 100);
    engine.writes().put(0, key(1), expected, 0);
    if (place.compacted) {
      engine.compact();
    }
    Thread closer = new Thread(engine::close);
    AtomicBoolean called = new AtomicBoolean();
    call.run(
        engine,
        view -> {
          called.set(true);
          assertEquals(ByteBuffer.wrap(expected), view);
          for (int i = 0; i < OVERWRITES; i++) {
            overwriteAll(engine, 600);
            engine.flush();
            assertEquals(0, engine.stats().pinned().memtableBytes());
          }
          engine.reclaim();
          StoreStats stats = engine.stats();
          assertEquals(NOTHING, stats.pinned());
          assertOnlyFilesInForce(stats);
          assertEquals(ByteBuffer.wrap(expected), view);
          assertEquals(ByteBuffer.wrap(expected), view.duplicate().rewind());

          closer.start();
          awaitNoReaderGetsIn(engine);
          assertTrue(closer.isAlive(), "the store is closed while a callback runs");
          assertTrue(engine.memoryBytes() > 0, "memory is freed while a callback runs");
          assertEquals(ByteBuffer.wrap(expected), view);
          return view;
        });
    closer.join();
    assertTrue(called.get());
    assertFalse(closer.isAlive());
    assertEquals(0, engine.memoryBytes(), "off-heap bytes after close");
  }

  private static void awaitNoReaderGetsIn(StorageEngine engine) {
    while (true) {
      try {
        engine.reads().contains(0, key(1), StoreReads.LATEST);
      } catch (StoreClosedException e) {
        return;
      }
    }
  }

  private void assertOnlyFilesInForce(StoreStats stats) {
    int tables = 0;
    int segments = 0;
    for (String name : listed()) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE) {
        tables++;
      } else if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
        segments++;
      }
    }
    assertEquals(Arrays.stream(Engines.levelTables(stats)).sum(), tables, "tables");
    assertEquals(stats.logSegments(), segments, "segments");
  }

  private Iterable<String> listed() {
    try {
      return storage.list();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
