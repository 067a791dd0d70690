package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.EngineConfig.CommitSync;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One random history against a model. The engine has tiny limits and a storage that can crash; the
 * model is a sorted map from key to value and expiry, kept persistent by copying, so that snapshots
 * and every state since the last sync are at hand.
 *
 * <p>What is checked: each read against the model; after a clean reopen or the death of the
 * process, everything; after a power failure, that the store holds exactly the state after some
 * commit not older than the last one known to be synced.
 */
final class ModelRun {
  private static final byte[] NO_BYTES = new byte[0];

  private record Cell(byte[] value, long expiresAtMillis) {}

  /** One committed state. */
  private static final class State {
    final NavigableMap<byte[], Cell> cells;

    State(NavigableMap<byte[], Cell> cells) {
      this.cells = cells;
    }

    State with(List<Change> changes) {
      NavigableMap<byte[], Cell> copy = new TreeMap<>(cells);
      for (Change change : changes) {
        if (change.cell() == null) {
          copy.remove(change.key());
        } else {
          copy.put(change.key(), change.cell());
        }
      }
      return new State(copy);
    }
  }

  private record Change(byte[] key, @Nullable Cell cell) {}

  private record OpenSnapshot(long sequence, State state) {}

  private final Random random;
  private final ManualClock clock = new ManualClock(1_000_000);
  private final Deque<String> history = new ArrayDeque<>();
  private final List<OpenSnapshot> snapshots = new ArrayList<>();
  private final int keyCount;

  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler;
  private CommitSync sync;
  private StorageEngine engine;
  private State current = new State(new TreeMap<>(Arrays::compareUnsigned));

  /** States since the last known sync, the synced one first, the current one last. */
  private final List<State> sinceSync = new ArrayList<>();

  ModelRun(long seed) {
    random = new Random(seed);
    keyCount = 1 << random.nextInt(1, 9);
    sinceSync.add(current);
    scheduler = new ManualScheduler(random.nextLong(), 2);
    sync = CommitSync.ON_DEMAND;
    engine = open();
  }

  /** Runs {@code steps} operations and a last full check; the failure carries the last of them. */
  void run(int steps) {
    try {
      for (int i = 0; i < steps; i++) {
        step();
      }
      checkAll();
      close();
    } catch (Throwable e) {
      throw new AssertionError("last operations: " + String.join("; ", history), e);
    }
  }

  private void step() {
    int dice = random.nextInt(1000);
    if (dice < 350) {
      put();
    } else if (dice < 430) {
      commit("delete", List.of(new Change(key(), null)));
    } else if (dice < 520) {
      batch();
    } else if (dice < 570) {
      compareAndSet();
    } else if (dice < 770) {
      readOne();
    } else if (dice < 830) {
      scan();
    } else if (dice < 860) {
      snapshot();
    } else if (dice < 900) {
      note("background");
      scheduler.help();
    } else if (dice < 915) {
      note("tick");
      scheduler.tick();
    } else if (dice < 930) {
      note("advance");
      clock.advance(random.nextInt(50));
    } else if (dice < 945) {
      note("sync");
      engine.sync();
      synced();
    } else if (dice < 965) {
      note("flush");
      engine.flush();
      synced();
    } else if (dice < 972) {
      note("compact");
      engine.compact();
      synced();
    } else if (dice < 985) {
      reopen();
    } else if (dice < 992) {
      killProcess();
    } else {
      powerFailure();
    }
  }

  private void put() {
    boolean expires = random.nextInt(8) == 0;
    byte[] value = value();
    long timeToLive = expires ? 1 + random.nextInt(100) : 0;
    long expiry = expires ? clock.millis() + timeToLive : Long.MAX_VALUE;
    byte[] key = key();
    note("put " + text(key) + " " + value.length + (expires ? " ttl " + timeToLive : ""));
    engine.writes().put(0, key, value, timeToLive);
    committed(List.of(new Change(key, new Cell(value, expiry))), sync);
  }

  private void batch() {
    List<Change> changes = new ArrayList<>();
    int count = random.nextInt(random.nextInt(20) == 0 ? 200 : 12);
    for (int i = 0; i < count; i++) {
      boolean delete = random.nextInt(4) == 0;
      changes.add(new Change(key(), delete ? null : new Cell(value(), Long.MAX_VALUE)));
    }
    commit("batch of " + count, changes);
  }

  private void commit(String what, List<Change> changes) {
    CommitSync when = random.nextInt(4) == 0 ? CommitSync.EVERY_COMMIT : sync;
    note(what + " " + when);
    WriteBuffer buffer = new WriteBuffer();
    for (Change change : changes) {
      if (change.cell() == null) {
        buffer.delete(0, change.key());
      } else {
        buffer.put(0, change.key(), change.cell().value(), 0);
      }
    }
    engine.writes().write(buffer, when);
    if (!changes.isEmpty()) {
      committed(changes, when);
    }
  }

  private void compareAndSet() {
    byte[] key = key();
    byte[] now = visible(current, key);
    boolean match = random.nextBoolean();
    byte[] expected = match ? now : value();
    byte[] value = random.nextInt(4) == 0 ? null : value();
    note("cas " + text(key) + " " + match);
    boolean applied = engine.writes().compareAndSet(0, key, expected, value);
    assertEquals(Arrays.equals(now, expected), applied);
    if (applied) {
      Cell cell = value == null ? null : new Cell(value, Long.MAX_VALUE);
      committed(List.of(new Change(key, cell)), sync);
    }
  }

  private void readOne() {
    byte[] key = key();
    note("get " + text(key));
    State state = current;
    long sequence = StoreReads.LATEST;
    if (!snapshots.isEmpty() && random.nextBoolean()) {
      OpenSnapshot snapshot = snapshots.get(random.nextInt(snapshots.size()));
      state = snapshot.state();
      sequence = snapshot.sequence();
    }
    byte[] expected = visible(state, key);
    assertArrayEquals(expected, engine.reads().get(0, key, sequence));
    assertEquals(expected != null, engine.reads().contains(0, key, sequence));
  }

  private void snapshot() {
    if (snapshots.size() < 3 && random.nextBoolean()) {
      note("snapshot");
      snapshots.add(new OpenSnapshot(engine.reads().acquireSnapshot(), current));
    } else if (!snapshots.isEmpty()) {
      note("release");
      engine.reads().releaseSnapshot(snapshots.remove(random.nextInt(snapshots.size())).sequence());
    }
  }

  /** A cursor that moves about, in step with an index into the model's entries. */
  private void scan() {
    byte[] from = random.nextInt(3) == 0 ? key() : null;
    byte[] to = random.nextInt(3) == 0 ? key() : null;
    boolean reverse = random.nextInt(3) == 0;
    note("scan " + text(from) + " " + text(to) + " " + reverse);
    List<Map.Entry<byte[], byte[]>> expected = entries(current, from, to);
    if (reverse) {
      Collections.reverse(expected);
    }
    ScanBounds bounds = new ScanBounds(0, from, to, reverse, false, Long.MAX_VALUE);
    try (EngineCursor cursor = engine.reads().cursor(bounds, StoreReads.LATEST)) {
      int index = -1;
      boolean fresh = true;
      int moves = random.nextInt(2) == 0 ? expected.size() + 1 : random.nextInt(30);
      boolean forwardOnly = random.nextBoolean();
      for (int i = 0; i < moves; i++) {
        if (random.nextInt(40) == 0) {
          put();
          scheduler.help();
        }
        int move = forwardOnly ? 0 : random.nextInt(6);
        if (move <= 2) {
          index = Math.min(expected.size(), index + 1);
          assertEquals(index < expected.size(), cursor.next());
        } else if (move <= 4) {
          index = fresh ? expected.size() - 1 : Math.max(-1, index - 1);
          assertEquals(index >= 0, cursor.previous());
        } else {
          byte[] target = key();
          boolean floor = random.nextBoolean();
          index = floor ? floor(expected, target, reverse) : ceiling(expected, target, reverse);
          boolean found = floor ? cursor.seekFloor(target) : cursor.seek(target);
          assertEquals(index >= 0 && index < expected.size(), found);
        }
        fresh = false;
        checkEntry(cursor, expected, index);
      }
    }
  }

  private static void checkEntry(
      EngineCursor cursor, List<Map.Entry<byte[], byte[]>> expected, int index) {
    boolean valid = index >= 0 && index < expected.size();
    assertEquals(valid, cursor.isValid());
    if (valid) {
      assertArrayEquals(expected.get(index).getKey(), cursor.key());
      assertEquals(expected.get(index).getValue().length, cursor.valueLength());
      assertArrayEquals(expected.get(index).getValue(), cursor.value());
    }
  }

  /** Index of the first entry at or after the target in the cursor's order. */
  private static int ceiling(
      List<Map.Entry<byte[], byte[]>> entries, byte[] target, boolean reverse) {
    for (int i = 0; i < entries.size(); i++) {
      int order = Arrays.compareUnsigned(entries.get(i).getKey(), target);
      if (reverse ? order <= 0 : order >= 0) {
        return i;
      }
    }
    return entries.size();
  }

  /** Index of the last entry at or before the target in the cursor's order. */
  private static int floor(
      List<Map.Entry<byte[], byte[]>> entries, byte[] target, boolean reverse) {
    int found = -1;
    for (int i = 0; i < entries.size(); i++) {
      int order = Arrays.compareUnsigned(entries.get(i).getKey(), target);
      if (reverse ? order >= 0 : order <= 0) {
        found = i;
      }
    }
    return found;
  }

  private void reopen() {
    note("reopen");
    close();
    synced();
    engine = open();
    checkAll();
  }

  private void killProcess() {
    note("kill");
    CrashableStorage after = storage.crashKeepingAll();
    abandon();
    storage = after;
    engine = open();
    checkAll();
  }

  private void powerFailure() {
    note("power failure");
    CrashableStorage after = storage.crash(random);
    abandon();
    storage = after;
    engine = open();
    String found = describe(engine);
    State match = null;
    for (int i = sinceSync.size() - 1; i >= 0 && match == null; i--) {
      if (describe(sinceSync.get(i)).equals(found)) {
        match = sinceSync.get(i);
      }
    }
    assertTrue(match != null, "the recovered state is none of the states since the last sync");
    current = match;
    synced();
  }

  private StorageEngine open() {
    scheduler = new ManualScheduler(random.nextLong(), 1 + random.nextInt(3));
    sync = random.nextInt(3) == 0 ? CommitSync.EVERY_COMMIT : CommitSync.ON_DEMAND;
    return StorageEngine.open(Engines.randomConfig(storage, sync, clock, random, scheduler));
  }

  private void close() {
    snapshots.clear();
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    // The same files, not closed: what is pending stays pending.
    storage = storage.crashKeepingAll();
  }

  /** Closes an engine whose storage is gone; only its memory is of interest. */
  private void abandon() {
    snapshots.clear();
    try {
      engine.close();
    } catch (RuntimeException e) {
      // The storage refuses everything after its crash.
    }
    assertEquals(0, engine.memoryBytes());
  }

  private void checkAll() {
    assertEquals(describe(current), describe(engine));
    for (Map.Entry<byte[], byte[]> entry : entries(current, null, null)) {
      assertArrayEquals(entry.getValue(), engine.reads().get(0, entry.getKey(), StoreReads.LATEST));
    }
  }

  /** All that can be seen of a store, a line an entry: key, value, expiry. */
  private static String describe(StorageEngine engine) {
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    StringBuilder text = new StringBuilder();
    try (EngineCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
      while (cursor.next()) {
        describe(text, cursor.key(), cursor.value(), cursor.expiresAtMillis());
      }
    }
    return text.toString();
  }

  private String describe(State state) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<byte[], Cell> entry : state.cells.entrySet()) {
      Cell cell = entry.getValue();
      if (cell.expiresAtMillis() > clock.millis()) {
        describe(text, entry.getKey(), cell.value(), cell.expiresAtMillis());
      }
    }
    return text.toString();
  }

  private static void describe(StringBuilder text, byte[] key, byte[] value, long expiry) {
    text.append(text(key)).append(' ').append(value.length).append(' ');
    text.append(Arrays.hashCode(value)).append(' ').append(expiry).append('\n');
  }

  private void committed(List<Change> changes, CommitSync when) {
    current = current.with(changes);
    sinceSync.add(current);
    if (when == CommitSync.EVERY_COMMIT) {
      synced();
    }
  }

  private void synced() {
    sinceSync.clear();
    sinceSync.add(current);
  }

  private byte @Nullable [] visible(State state, byte[] key) {
    Cell cell = state.cells.get(key);
    return cell == null || cell.expiresAtMillis() <= clock.millis() ? null : cell.value();
  }

  private List<Map.Entry<byte[], byte[]>> entries(
      State state, byte @Nullable [] from, byte @Nullable [] to) {
    List<Map.Entry<byte[], byte[]>> entries = new ArrayList<>();
    for (Map.Entry<byte[], Cell> entry : state.cells.entrySet()) {
      boolean inside =
          (from == null || Arrays.compareUnsigned(entry.getKey(), from) >= 0)
              && (to == null || Arrays.compareUnsigned(entry.getKey(), to) < 0);
      if (inside && entry.getValue().expiresAtMillis() > clock.millis()) {
        entries.add(Map.entry(entry.getKey(), entry.getValue().value()));
      }
    }
    return entries;
  }

  /** Keys of one to some bytes with common prefixes, from a small set. */
  private byte[] key() {
    int index = random.nextInt(keyCount);
    Random shape = new Random(index);
    byte[] key = new byte[1 + shape.nextInt(30)];
    Arrays.fill(key, (byte) (index % 3 == 0 ? 0xff : 'k'));
    key[key.length - 1] = (byte) index;
    if (key.length > 2) {
      key[key.length - 2] = (byte) (index >>> 8);
    }
    return key;
  }

  private byte[] value() {
    int kind = random.nextInt(10);
    int length =
        kind < 2 ? random.nextInt(4) : kind < 9 ? random.nextInt(200) : random.nextInt(6000);
    if (length == 0) {
      return NO_BYTES;
    }
    byte[] value = new byte[length];
    if (random.nextBoolean()) {
      random.nextBytes(value);
    } else {
      Arrays.fill(value, (byte) random.nextInt(256));
    }
    return value;
  }

  private void note(String operation) {
    history.add(operation);
    if (history.size() > 30) {
      history.remove();
    }
  }

  private static String text(byte @Nullable [] key) {
    return key == null ? "-" : HexFormat.of().formatHex(key);
  }
}
