package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The room of a log in real files is read, filled, synced and cut by threads of their own. */
@Tag("compiled")
final class LogPreallocatorThreadsTest {
  private static final int WRITES = 3_000;
  private static final long ROOM_BYTES = 96 << 10;
  private static final long SEGMENT_BYTES = 512 << 10;

  @TempDir Path directory;

  @Test
  void whatIsWrittenAheadOfReadersOfTheRoomIsThere() {
    Seeds.run(getClass(), "whatIsWrittenAheadOfReadersOfTheRoomIsThere", 1, 3, this::run);
  }

  private void run(long seed) {
    Random random = new Random(seed);
    AtomicBoolean writing = new AtomicBoolean(true);
    try (StorageEngine engine = open(seed)) {
      CompletableFuture<Void> syncs =
          CompletableFuture.runAsync(
              () -> {
                int calls = 0;
                while (writing.get()) {
                  if (++calls % 16 == 0) {
                    engine.flush();
                  } else {
                    engine.sync();
                  }
                }
              });
      for (int i = 0; i < WRITES; i++) {
        engine.writes().put(0, key(i), value(seed, i), 0);
        if (random.nextInt(100) == 0) {
          int earlier = random.nextInt(i + 1);
          assertArrayEquals(
              value(seed, earlier), engine.reads().get(0, key(earlier), StoreReads.LATEST));
        }
      }
      writing.set(false);
      syncs.join();
    }
    try (StorageEngine engine = open(seed)) {
      assertEquals(0, engine.stats().tornBytes());
      for (int i = 0; i < WRITES; i++) {
        assertArrayEquals(value(seed, i), engine.reads().get(0, key(i), StoreReads.LATEST));
      }
      assertTrue(engine.verify().problems().isEmpty());
    }
  }

  private StorageEngine open(long seed) {
    try {
      return StorageEngine.open(
          ConfigDraft.of(
                  Engines.config(
                      new FileStorage(directory.resolve("store-" + seed), true),
                      new ThreadScheduler(2)))
              .segmentBytes(SEGMENT_BYTES)
              .shape(Engines.withRoom(ROOM_BYTES))
              .build());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] key(int number) {
    return String.format("key %08d", number).getBytes(StandardCharsets.UTF_8);
  }

  /** Short, or as long as several pieces of the room. */
  private static byte[] value(long seed, int number) {
    Random random = new Random(seed * 31 + number);
    byte[] value = new byte[random.nextInt(50) == 0 ? 30_000 : 100 + random.nextInt(4_000)];
    random.nextBytes(value);
    return value;
  }
}
