package io.kvsep.internal.background;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store without writers comes to have its tables in one level, or nearly. */
final class IdleCompactionTest {
  /** More than any store takes to count as quiet. */
  private static final int TICKS = 50;

  private static final int ENTRIES = 3_000;

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final CrashableStorage storage = new CrashableStorage();
  private final StorageEngine engine = Engines.open(storage, scheduler);

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void aQuietStoreEndsInLevelsThatAreNotWorthBringingDown() {
    fill();
    assertFalse(isSettled());
    long compactions = engine.stats().compactions();
    rest();
    assertTrue(isSettled());
    assertTrue(engine.stats().compactions() > compactions);
    for (int i = 0; i < ENTRIES; i++) {
      assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST));
    }
    long settled = engine.stats().compactions();
    rest();
    assertEquals(settled, engine.stats().compactions());
  }

  @Test
  void aStoreThatIsWrittenToNowAndThenDoesNotSettle() {
    fill();
    long compactions = engine.stats().compactions();
    for (int i = 0; i < TICKS; i++) {
      engine.writes().put(0, key(0), value(0), 0);
      scheduler.tick();
      scheduler.runAll();
    }
    assertFalse(isSettled());
    assertEquals(compactions, engine.stats().compactions());
  }

  @Test
  void whatIsWrittenNowAndThenDoesNotRewriteTheLastLevelEachTime() {
    fill();
    rest();
    long tableBytes = engine.stats().tableBytes();
    long written = engine.stats().deviceBytesWritten();
    for (int round = 0; round < 40; round++) {
      // Far apart, so that they overlap all tables.
      for (int i = round; i < ENTRIES; i += 500) {
        engine.writes().put(0, key(i), value(i), 0);
      }
      engine.flush();
      rest();
    }
    assertTrue(engine.stats().deviceBytesWritten() - written < 4 * tableBytes);
  }

  @Test
  void aWriteEndsItBeforeTheNextTick() {
    fill();
    rest();
    long tableBytes = engine.stats().tableBytes();
    long written = engine.stats().deviceBytesWritten();
    engine.writes().put(0, key(0), value(0), 0);
    engine.writes().put(0, key(ENTRIES - 1), value(ENTRIES - 1), 0);
    engine.flush();
    scheduler.runAll();
    assertTrue(engine.stats().deviceBytesWritten() - written < tableBytes / 2);
  }

  @Test
  void aStoreThatCannotSettleTriesAgainOnlyWhenItWasWrittenTo() {
    fill();
    storage.failAt(1, Fault.ENOSPC, /* sticky= */ true, kind -> kind == Operation.CREATE);
    rest();
    assertFalse(isSettled());
    storage.clearTrace();
    rest();
    assertEquals(
        List.of(), storage.trace().stream().filter(line -> line.startsWith("create")).toList());
    storage.clearFaults();
    engine.writes().put(0, key(0), value(0), 0);
    rest();
    assertTrue(isSettled());
    for (int i = 0; i < ENTRIES; i++) {
      assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST));
    }
  }

  /** Longer than it takes to count as quiet, and to do what comes of it. */
  private void rest() {
    tick(TICKS);
  }

  private void tick(int times) {
    for (int i = 0; i < times; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
  }

  private void fill() {
    Random random = new Random(3);
    for (int i = 0; i < ENTRIES; i++) {
      engine.writes().put(0, key(i), value(i), 0);
      if (random.nextInt(10) == 0) {
        int other = random.nextInt(i + 1);
        engine.writes().put(0, key(other), value(other), 0);
      }
      scheduler.runAll();
    }
    engine.flush();
    scheduler.runAll();
  }

  /** Whether no level that holds anything could go down cheaply. */
  private boolean isSettled() {
    long[] held = levelsHeld();
    boolean settled = held.length > 0;
    for (int i = 1; i < held.length; i++) {
      settled &= held[i] > 10 * held[i - 1];
    }
    return settled;
  }

  private long[] levelsHeld() {
    return Arrays.stream(Engines.levelBytes(engine.stats())).filter(bytes -> bytes > 0).toArray();
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putInt(i * 0x9e3779b1).putInt(i).array();
  }

  private static byte[] value(int i) {
    return ByteBuffer.allocate(40).putInt(36, i).array();
  }
}
