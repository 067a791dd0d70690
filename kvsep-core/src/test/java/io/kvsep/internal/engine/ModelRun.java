package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Keyspaces;
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
import java.util.Objects;
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

  /** With prefixes of one and of five bytes, and neighbours. */
  private static final int[] KEYSPACES = {0, 1, 239, 300};

  private record Cell(byte[] value, long expiresAtMillis) {}

  /** One committed state, by stored key. */
  private static final class State {
    final NavigableMap<byte[], Cell> cells;

    State(NavigableMap<byte[], Cell> cells) {
      this.cells = cells;
    }

    State with(List<Change> changes) {
      NavigableMap<byte[], Cell> copy = new TreeMap<>(cells);
      for (Change change : changes) {
        byte[] key = Keyspaces.storedKey(change.keyspace(), change.key());
        if (change.end() != null) {
          byte[] end = Keyspaces.storedKey(change.keyspace(), change.end());
          if (Arrays.compareUnsigned(key, end) < 0) {
            copy.subMap(key, end).clear();
          }
        } else if (change.cell() == null) {
          copy.remove(key);
        } else {
          copy.put(key, change.cell());
        }
      }
      return new State(copy);
    }
  }

  /** A put with a cell, a delete of a range with an end, or else a delete. */
  private record Change(int keyspace, byte[] key, @Nullable Cell cell, byte @Nullable [] end) {
    static Change put(int keyspace, byte[] key, Cell cell) {
      return new Change(keyspace, key, cell, null);
    }

    static Change delete(int keyspace, byte[] key) {
      return new Change(keyspace, key, null, null);
    }
  }

  /** A cursor that stays open across operations, and where it stands in what it has to show. */
  private static final class OpenCursor {
    final EngineCursor cursor;
    final List<Map.Entry<byte[], byte[]>> expected;
    final boolean reverse;
    int index = -1;
    boolean fresh = true;

    OpenCursor(EngineCursor cursor, List<Map.Entry<byte[], byte[]>> expected, boolean reverse) {
      this.cursor = cursor;
      this.expected = expected;
      this.reverse = reverse;
    }
  }

  /** What can be read: a snapshot, or the present without a hold. */
  private record OpenSnapshot(@Nullable SnapshotHold hold, State state) {
    long sequence() {
      return hold == null ? StoreReads.LATEST : hold.sequence();
    }
  }

  private final Random random;
  private final ManualClock clock = new ManualClock(1_000_000);
  private final Deque<String> history = new ArrayDeque<>();
  private final List<OpenSnapshot> snapshots = new ArrayList<>();
  private final List<OpenCursor> cursors = new ArrayList<>();
  private final int keyCount;

  private CrashableStorage storage = Engines.withKeyspaces(KEYSPACES[KEYSPACES.length - 1] + 1);
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
    } else if (dice < 400) {
      commit("delete", List.of(Change.delete(keyspace(), key())));
    } else if (dice < 430) {
      deleteRange();
    } else if (dice < 520) {
      batch();
    } else if (dice < 570) {
      compareAndSet();
    } else if (dice < 770) {
      readOne();
    } else if (dice < 815) {
      scan();
    } else if (dice < 830) {
      holdCursor();
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
      // What a cursor shows changes with the time, and its list does not.
      closeCursors();
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
    } else if (dice < 977) {
      note("reclaim");
      engine.reclaim();
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
    int keyspace = keyspace();
    note(
        "put "
            + keyspace
            + ":"
            + text(key)
            + " "
            + value.length
            + (expires ? " ttl " + timeToLive : ""));
    engine.writes().put(keyspace, key, value, timeToLive);
    committed(List.of(Change.put(keyspace, key, new Cell(value, expiry))), sync);
  }

  private void batch() {
    List<Change> changes = new ArrayList<>();
    int count = random.nextInt(random.nextInt(20) == 0 ? 200 : 12);
    for (int i = 0; i < count; i++) {
      int kind = random.nextInt(24);
      if (kind == 0) {
        changes.add(range());
      } else if (kind < 6) {
        changes.add(Change.delete(keyspace(), key()));
      } else {
        changes.add(Change.put(keyspace(), key(), new Cell(value(), Long.MAX_VALUE)));
      }
    }
    commit("batch of " + count, changes);
  }

  private void deleteRange() {
    Change range = range();
    note("delete range " + range.keyspace() + ":" + text(range.key()) + " " + text(range.end()));
    byte[] end = Objects.requireNonNull(range.end());
    engine.writes().deleteRange(range.keyspace(), range.key(), end);
    if (Arrays.compareUnsigned(range.key(), end) < 0) {
      committed(List.of(range), sync);
    }
  }

  /** Mostly short ranges, sometimes a whole keyspace or nothing. */
  private Change range() {
    int kind = random.nextInt(8);
    byte[] from = kind == 0 ? NO_BYTES : key();
    byte[] to = key();
    if (kind < 4) {
      to = from.clone();
      if (to.length > 0) {
        to[to.length - 1] = (byte) (to[to.length - 1] + 1 + random.nextInt(4));
      }
    }
    return new Change(keyspace(), from, null, to);
  }

  private void commit(String what, List<Change> changes) {
    CommitSync when = random.nextInt(4) == 0 ? CommitSync.EVERY_COMMIT : sync;
    note(what + " " + when);
    WriteBuffer buffer = new WriteBuffer();
    for (Change change : changes) {
      if (change.end() != null) {
        buffer.deleteRange(change.keyspace(), change.key(), change.end());
      } else if (change.cell() == null) {
        buffer.delete(change.keyspace(), change.key());
      } else {
        buffer.put(change.keyspace(), change.key(), change.cell().value(), 0);
      }
    }
    engine.writes().write(buffer, when);
    // Ranges with nothing in them are no writes, and a batch of nothing else syncs nothing.
    if (buffer.count() > 0) {
      committed(changes, when);
    }
  }

  private void compareAndSet() {
    byte[] key = key();
    int keyspace = keyspace();
    byte[] now = visible(current, keyspace, key);
    boolean match = random.nextBoolean();
    byte[] expected = match ? now : value();
    byte[] value = random.nextInt(4) == 0 ? null : value();
    note("cas " + text(key) + " " + match);
    boolean applied = engine.writes().compareAndSet(keyspace, key, expected, value);
    assertEquals(Arrays.equals(now, expected), applied);
    if (applied) {
      Cell cell = value == null ? null : new Cell(value, Long.MAX_VALUE);
      committed(List.of(new Change(keyspace, key, cell, null)), sync);
    }
  }

  private void readOne() {
    byte[] key = key();
    int keyspace = keyspace();
    note("get " + keyspace + ":" + text(key));
    OpenSnapshot moment = moment();
    byte[] expected = visible(moment.state(), keyspace, key);
    assertArrayEquals(expected, engine.reads().get(keyspace, key, moment.sequence()));
    assertEquals(expected != null, engine.reads().contains(keyspace, key, moment.sequence()));
    if (random.nextInt(8) == 0) {
      List<byte[]> keys = new ArrayList<>();
      List<byte @Nullable []> values = new ArrayList<>();
      for (int i = random.nextInt(20); i > 0; i--) {
        keys.add(random.nextInt(4) == 0 ? key : key());
        values.add(visible(moment.state(), keyspace, keys.get(keys.size() - 1)));
      }
      List<byte @Nullable []> found = engine.reads().getAll(keyspace, keys, moment.sequence());
      assertArrayEquals(values.toArray(), found.toArray());
    }
  }

  /** The present or an open snapshot. */
  private OpenSnapshot moment() {
    return snapshots.isEmpty() || random.nextBoolean()
        ? new OpenSnapshot(null, current)
        : snapshots.get(random.nextInt(snapshots.size()));
  }

  private void snapshot() {
    if (snapshots.size() < 3 && random.nextBoolean()) {
      note("snapshot");
      snapshots.add(new OpenSnapshot(engine.reads().acquireSnapshot(), current));
    } else if (!snapshots.isEmpty()) {
      note("release");
      SnapshotHold hold = snapshots.remove(random.nextInt(snapshots.size())).hold();
      engine.reads().releaseSnapshot(Objects.requireNonNull(hold));
    }
  }

  /** A cursor that moves about, in step with an index into the model's entries. */
  private void scan() {
    try (OpenScan scan = new OpenScan(openCursor())) {
      OpenCursor held = scan.held();
      int moves = random.nextInt(2) == 0 ? held.expected.size() + 1 : random.nextInt(30);
      boolean forwardOnly = random.nextBoolean();
      for (int i = 0; i < moves; i++) {
        if (random.nextInt(40) == 0) {
          put();
          scheduler.help();
        }
        move(held, forwardOnly);
      }
    }
  }

  private record OpenScan(OpenCursor held) implements AutoCloseable {
    @Override
    public void close() {
      held.cursor.close();
    }
  }

  /** Opens a cursor to stay, moves one that is open, or closes one. */
  private void holdCursor() {
    int kind = random.nextInt(4);
    if (cursors.size() < 3 && kind == 0) {
      cursors.add(openCursor());
    } else if (!cursors.isEmpty() && kind < 3) {
      note("move held cursor");
      OpenCursor held = cursors.get(random.nextInt(cursors.size()));
      for (int i = random.nextInt(10); i >= 0; i--) {
        move(held, /* forwardOnly= */ false);
      }
    } else if (!cursors.isEmpty()) {
      note("close held cursor");
      cursors.remove(random.nextInt(cursors.size())).cursor.close();
    }
  }

  private OpenCursor openCursor() {
    byte[] from = random.nextInt(3) == 0 ? key() : null;
    byte[] to = random.nextInt(3) == 0 ? key() : null;
    boolean reverse = random.nextInt(3) == 0;
    int keyspace = keyspace();
    OpenSnapshot moment = moment();
    note("cursor " + keyspace + ":" + text(from) + " " + text(to) + " " + reverse);
    List<Map.Entry<byte[], byte[]>> expected = entries(moment.state(), keyspace, from, to);
    if (reverse) {
      Collections.reverse(expected);
    }
    ScanBounds bounds =
        new ScanBounds(keyspace, from, to, reverse, false, Long.MAX_VALUE, random.nextInt(-1, 9));
    return new OpenCursor(engine.reads().cursor(bounds, moment.sequence()), expected, reverse);
  }

  private void move(OpenCursor held, boolean forwardOnly) {
    List<Map.Entry<byte[], byte[]>> expected = held.expected;
    EngineCursor cursor = held.cursor;
    int move = forwardOnly ? 0 : random.nextInt(6);
    if (move <= 2) {
      held.index = Math.min(expected.size(), held.index + 1);
      assertEquals(held.index < expected.size(), cursor.next());
    } else if (move <= 4) {
      held.index = held.fresh ? expected.size() - 1 : Math.max(-1, held.index - 1);
      assertEquals(held.index >= 0, cursor.previous());
    } else {
      byte[] target = key();
      boolean floor = random.nextBoolean();
      held.index =
          floor ? floor(expected, target, held.reverse) : ceiling(expected, target, held.reverse);
      boolean found = floor ? cursor.seekFloor(target) : cursor.seek(target);
      assertEquals(held.index >= 0 && held.index < expected.size(), found);
    }
    held.fresh = false;
    checkEntry(cursor, expected, held.index);
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
    closeCursors();
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    // The same files, not closed: what is pending stays pending.
    storage = storage.crashKeepingAll();
  }

  private void closeCursors() {
    cursors.forEach(held -> held.cursor.close());
    cursors.clear();
  }

  /** Closes an engine whose storage is gone; only its memory is of interest. */
  private void abandon() {
    snapshots.clear();
    // Those still open are closed with the engine.
    cursors.clear();
    try {
      engine.close();
    } catch (RuntimeException e) {
      // The storage refuses everything after its crash.
    }
    assertEquals(0, engine.memoryBytes());
  }

  private void checkAll() {
    assertEquals(List.of(), engine.verify().problems());
    assertEquals(describe(current), describe(engine));
    for (int keyspace : KEYSPACES) {
      for (Map.Entry<byte[], byte[]> entry : entries(current, keyspace, null, null)) {
        byte[] found = engine.reads().get(keyspace, entry.getKey(), StoreReads.LATEST);
        assertArrayEquals(entry.getValue(), found);
      }
    }
  }

  /** All that can be seen of a store, a line an entry: key, value, expiry. */
  private static String describe(StorageEngine engine) {
    StringBuilder text = new StringBuilder();
    for (int keyspace : KEYSPACES) {
      ScanBounds all = new ScanBounds(keyspace, null, null, false, false, Long.MAX_VALUE);
      try (EngineCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
        while (cursor.next()) {
          byte[] key = Keyspaces.storedKey(keyspace, cursor.key());
          describe(text, key, cursor.value(), cursor.expiresAtMillis());
        }
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

  private byte @Nullable [] visible(State state, int keyspace, byte[] key) {
    Cell cell = state.cells.get(Keyspaces.storedKey(keyspace, key));
    return cell == null || cell.expiresAtMillis() <= clock.millis() ? null : cell.value();
  }

  private List<Map.Entry<byte[], byte[]>> entries(
      State state, int keyspace, byte @Nullable [] from, byte @Nullable [] to) {
    List<Map.Entry<byte[], byte[]>> entries = new ArrayList<>();
    byte[] first = Keyspaces.storedKey(keyspace, from == null ? NO_BYTES : from);
    byte[] end = to == null ? Keyspaces.end(keyspace) : Keyspaces.storedKey(keyspace, to);
    for (Map.Entry<byte[], Cell> entry : state.cells.tailMap(first).entrySet()) {
      if (Arrays.compareUnsigned(entry.getKey(), end) >= 0) {
        break;
      }
      if (entry.getValue().expiresAtMillis() > clock.millis()) {
        byte[] key = entry.getKey();
        byte[] userKey = Arrays.copyOfRange(key, Keyspaces.prefixLength(keyspace), key.length);
        entries.add(Map.entry(userKey, entry.getValue().value()));
      }
    }
    return entries;
  }

  private int keyspace() {
    return KEYSPACES[random.nextInt(3) > 0 ? 0 : random.nextInt(KEYSPACES.length)];
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
