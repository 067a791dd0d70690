package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Garbage in the log is found by compactions that no call asked for. */
final class HiddenSpaceTest {
  private static final int KEYS = 1_000;
  private static final int VALUE_BYTES = 500;
  private static final long HOUR = 3_600_000;

  /** What a record of the log takes beside its value, at most. */
  private static final int RECORD_OVERHEAD_BYTES = 64;

  /** What may hide whatever there is: the least that is worth it, and what is not flushed. */
  private static final long HIDDEN_BYTES_MIN =
      Engines.TINY.log().hiddenBytesMin() + Engines.TINY.memtables().logBytesMax();

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualClock clock = new ManualClock(HOUR);
  private final ManualScheduler scheduler = new ManualScheduler(5, 2);
  private final StorageEngine engine =
      StorageEngine.open(
          Engines.config(storage, CommitSync.ON_DEMAND, clock, new Random(7), scheduler));
  private final int[] generations = new int[KEYS];

  @AfterEach
  void everythingIsGivenBack() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  @Test
  void overwrittenValuesHideNoMoreThanAQuarter() {
    Random random = new Random(3);
    for (int round = 1; round <= 6; round++) {
      for (int i = 0; i < KEYS; i++) {
        put(round == 1 ? i : random.nextInt(KEYS), round, 0);
      }
      assertTrue(liveBytes() <= most(KEYS), () -> liveBytes() + " live bytes");
    }
    settle();
    assertTrue(liveBytes() <= most(KEYS), () -> liveBytes() + " live bytes");
    assertContents();
  }

  @Test
  void valuesThatOverwriteAFewKeysAgainAndAgainHideNoMoreThanAQuarter() {
    for (int i = 0; i < KEYS; i++) {
      put(i, 1, 0);
    }
    for (int i = 0; i < 3 * KEYS; i++) {
      put(100 + i % 20, 2 + i, 0);
    }
    settle();
    assertTrue(liveBytes() <= most(KEYS), () -> liveBytes() + " live bytes");
    assertContents();
  }

  @Test
  void shortValuesInPlaceOfLongOnesGiveTheSpaceBack() {
    for (int i = 0; i < KEYS; i++) {
      put(i, 1, 0);
    }
    for (int i = 0; i < KEYS; i++) {
      engine.writes().put(0, key(i), new byte[] {1}, 0);
      scheduler.runAll();
    }
    settle();
    // In the order of the keys, which the estimate does not know: it takes a quarter of the keys
    // above, and some that are not flushed.
    long third = (long) KEYS / 3 * (VALUE_BYTES + RECORD_OVERHEAD_BYTES);
    assertTrue(liveBytes() <= most(0) + third, () -> liveBytes() + " live bytes");
  }

  @Test
  void deletingAllKeysOneByOneGivesTheSpaceBack() {
    for (int i = 0; i < KEYS; i++) {
      put(i, 1, 0);
    }
    assertTrue(liveBytes() > (long) KEYS * VALUE_BYTES);
    for (int i = 0; i < KEYS; i++) {
      engine.writes().delete(0, key(i));
      generations[i] = 0;
      scheduler.runAll();
    }
    settle();
    assertTrue(liveBytes() <= most(0), () -> liveBytes() + " live bytes");
    assertContents();
  }

  @Test
  void halfOfAStoreDeletedAsARangeGivesTheSpaceBack() {
    for (int i = 0; i < KEYS; i++) {
      put(i, 1, 0);
    }
    engine.compact();
    engine.writes().deleteRange(0, key(300), key(800));
    Arrays.fill(generations, 300, 800, 0);
    engine.flush();
    settle();
    assertTrue(liveBytes() <= most(500), () -> liveBytes() + " live bytes");
    assertContents();
  }

  @Test
  void expiredTablesVanishWhenTheClockHasMoved() {
    for (int i = 0; i < KEYS; i++) {
      put(i, 1, HOUR);
    }
    engine.compact();
    long before = liveBytes();
    clock.advance(HOUR - 1);
    settle();
    assertEquals(before, liveBytes());
    long compactions = engine.stats().compactions();
    clock.advance(1);
    settle();
    Arrays.fill(generations, 0);
    assertEquals(0, liveBytes());
    assertEquals(0, Arrays.stream(Engines.levelTables(engine.stats())).sum());
    assertContents();
    assertTrue(engine.stats().compactions() > compactions);
    long after = engine.stats().compactions();
    clock.advance(24 * HOUR);
    settle();
    assertEquals(after, engine.stats().compactions());
  }

  @Test
  void tablesThatExpireInPartAreRewrittenAFewTimes() {
    for (int i = 0; i < KEYS; i++) {
      put(i, 1, i % 2 == 0 ? HOUR * (1 + i % 48) : 0);
    }
    engine.compact();
    long tables = Arrays.stream(Engines.levelTables(engine.stats())).sum();
    long before = engine.stats().compactions();
    for (int hour = 0; hour < 50; hour++) {
      clock.advance(HOUR);
      settle();
    }
    for (int i = 0; i < KEYS; i += 2) {
      generations[i] = 0;
    }
    assertContents();
    // A quarter of what is there may have expired unnoticed.
    assertTrue(liveBytes() <= most(KEYS / 2), () -> liveBytes() + " live bytes");
    assertTrue(engine.stats().compactions() - before <= 4 * tables);
  }

  /** Long values, so that the log is what fills a memtable. */
  @Test
  void memtablesCoverTheMoreOfTheLogTheMoreThereIsInTheStore() {
    byte[] value = new byte[4 << 10];
    new Random(1).nextBytes(value);
    long[] flushes = new long[3];
    for (int part = 0; part < 3; part++) {
      long before = engine.stats().flushes();
      for (int i = 0; i < 128; i++) {
        engine.writes().put(0, key(128 * part + i), value, 0);
        scheduler.runAll();
      }
      flushes[part] = engine.stats().flushes() - before;
    }
    // From seven values each at first to fifteen in the end.
    assertTrue(flushes[0] > 12, () -> Arrays.toString(flushes));
    assertTrue(flushes[1] < flushes[0], () -> Arrays.toString(flushes));
    assertTrue(flushes[2] < flushes[1], () -> Arrays.toString(flushes));
  }

  private void put(int index, int generation, long timeToLive) {
    engine.writes().put(0, key(index), value(index, generation), timeToLive);
    generations[index] = generation;
    scheduler.runAll();
  }

  private long liveBytes() {
    return engine.stats().logLiveBytes();
  }

  /** The most that so many live values may keep alive. */
  private static long most(int values) {
    long live = (long) values * (VALUE_BYTES + RECORD_OVERHEAD_BYTES);
    return live + live / 4 + HIDDEN_BYTES_MIN;
  }

  /** Lets the timer run, and what it starts. */
  private void settle() {
    for (int i = 0; i < 3; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
  }

  private void assertContents() {
    for (int i = 0; i < KEYS; i++) {
      byte[] found = engine.reads().get(0, key(i), StoreReads.LATEST);
      if (generations[i] == 0) {
        assertNull(found);
      } else {
        assertArrayEquals(value(i, generations[i]), found);
      }
    }
  }

  private static byte[] key(int index) {
    return String.format("key-%04d", index).getBytes(UTF_8);
  }

  private static byte[] value(int index, int generation) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(31L * index + generation).nextBytes(value);
    return value;
  }
}
