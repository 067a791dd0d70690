package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.runtime.EngineConfig;
import io.kvsep.internal.runtime.EngineConfig.CommitSync;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What comes of a touch of near records that took long. Touches are known by the looks at the
 * clock: each takes two before the value is read, and so does now and then the read itself.
 */
final class NearReadsTest {
  private static final int ENTRIES = 2_000;
  private static final int VALUE_BYTES = 400;
  private static final long SLOW_NANOS = 1_000_000;

  /** Moves without a touch after a slow one. */
  private static final int PAUSE = 16;

  private final CrashableStorage disk = new CrashableStorage();
  private StorageEngine store;
  private long nanos;

  /** Looks at the clock since the last move. */
  private int looks;

  /** The look that is to be late, 0 for none. */
  private int lateLook;

  @BeforeEach
  void fill() {
    EngineConfig tiny =
        Engines.config(
            disk,
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(9),
            new ManualScheduler(3, 1));
    store =
        StorageEngine.open(
            ConfigDraft.of(tiny)
                .compressionBytesMin(Integer.MAX_VALUE)
                .segmentBytes(64 << 10)
                .ticker(this::look)
                .build());
    for (int i = 0; i < ENTRIES; i++) {
      store.writes().put(0, key(i), value(i), 0);
    }
    store.flush();
    store.compact();
    for (int i = 0; i < ENTRIES && isCold(); i++) {
      assertArrayEquals(value(i), store.reads().get(0, key(i), StoreReads.LATEST));
    }
    assertFalse(isCold());
  }

  @AfterEach
  void close() {
    store.close();
    assertEquals(0, store.memoryBytes(), "off-heap bytes after close");
  }

  @Test
  void recordsAreTouchedAllAlongWhileNoTouchIsSlow() {
    List<Integer> touched = touches();
    assertTrue(touched.size() >= ENTRIES / PAUSE - 10, touched.toString());
    assertTrue(longestGap(touched) <= PAUSE, touched.toString());
  }

  @Test
  void aSlowTouchIsTheLastForSixteenMovesAndNobodyAsks() {
    List<Integer> usual = touches();
    // One of the first ones, which are of few records.
    assertTrue(usual.get(2) - usual.get(1) < PAUSE, usual.toString());
    List<Integer> touched = touches(1);
    assertEquals(usual.subList(0, 2), touched.subList(0, 2));
    assertEquals(PAUSE, touched.get(2) - touched.get(1), touched.toString());
    assertTrue(longestGap(touched) <= 2 * PAUSE, touched.toString());
    assertFalse(isCold());
  }

  @Test
  void slowTouchesWithFastOnesBetweenAreNoReasonToAsk() {
    touches(3, 5, 7, 9, 11, 13, 15, 17, 19);
    assertFalse(isCold());
  }

  @Test
  void aSecondSlowTouchIsReasonToAsk() {
    List<Integer> touched = touches(5, 6);
    assertEquals(7, touched.size(), "touches until values are looked for");
    assertTrue(isCold());
  }

  @Test
  void oneSlowTouchOfGetAllIsReasonToAsk() {
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      keys.add(key(7 * i));
    }
    store.reads().getAll(0, keys, StoreReads.LATEST);
    assertFalse(isCold());
    looks = 0;
    lateLook = 2;
    store.reads().getAll(0, keys, StoreReads.LATEST);
    assertTrue(isCold());
  }

  /**
   * Scans until the end, or until values are taken for cold.
   *
   * @param slow numbers of the touches that take long
   * @return the entries at which records were touched
   */
  private List<Integer> touches(Integer... slow) {
    int[] timedReads = new int[ENTRIES];
    scan(
        0,
        i -> {
          timedReads[i] = looks;
          return true;
        });
    List<Integer> late = List.of(slow);
    List<Integer> touched = new ArrayList<>();
    List<Integer> missed = new ArrayList<>(late);
    scan(
        ScanBounds.ADAPTIVE,
        i -> {
          if (looks > timedReads[i]) {
            touched.add(i);
          }
          if (lateLook > 0 && looks >= lateLook) {
            missed.remove((Integer) (touched.size() - 1));
          }
          // A read that is timed would have the second look if nothing is touched.
          boolean isNextSlow = late.contains(touched.size()) && !isTimed(timedReads, i + 1);
          lateLook = isNextSlow ? 2 : 0;
          return !isCold();
        });
    lateLook = 0;
    assertEquals(List.of(), missed, "touches that were to be slow and were not");
    return touched;
  }

  private static boolean isTimed(int[] timedReads, int entry) {
    return entry < ENTRIES && timedReads[entry] > 0;
  }

  /** Reads values in the order of keys as long as {@code goOn} says so. */
  private void scan(int prefetch, IntPredicate goOn) {
    ScanBounds bounds = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE, prefetch);
    boolean isOn = true;
    try (EngineCursor cursor = store.reads().cursor(bounds, StoreReads.LATEST)) {
      for (int i = 0; isOn && i < ENTRIES; i++) {
        assertTrue(cursor.next());
        looks = 0;
        assertArrayEquals(value(i), cursor.value());
        isOn = goOn.test(i);
      }
    }
  }

  private static int longestGap(List<Integer> touched) {
    int longest = 0;
    for (int i = 1; i < touched.size(); i++) {
      longest = Math.max(longest, touched.get(i) - touched.get(i - 1));
    }
    return longest;
  }

  private boolean isCold() {
    return store.reads().values().isCold();
  }

  private long look() {
    looks++;
    nanos += looks == lateLook ? SLOW_NANOS : 0;
    return nanos;
  }

  private static byte[] key(int entry) {
    return String.format("%05d", entry).getBytes(UTF_8);
  }

  private static byte[] value(int entry) {
    byte[] value = new byte[VALUE_BYTES];
    Arrays.fill(value, (byte) entry);
    return value;
  }
}
