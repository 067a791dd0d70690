package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ModelHistory;
import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Cell;
import io.kvsep.testing.ModelState.Change;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One random history of the engine's calls against a model, in a few keyspaces whose prefixes are
 * of either length.
 */
final class ModelRun extends ModelHistory<EngineModelCursor> {
  /** With prefixes of one and of five bytes, and neighbours. */
  private static final int[] KEYSPACES = {0, 1, 239, 300};

  /** What can be read: a snapshot, or the present without a hold. */
  private record OpenSnapshot(@Nullable SnapshotLease hold, ModelState state) {
    SnapshotLease toRead() {
      return hold == null ? StoreReads.LATEST : hold;
    }
  }

  private final List<OpenSnapshot> snapshots = new ArrayList<>();

  ModelRun(long seed) {
    super(Engines.withKeyspaces(KEYSPACES[KEYSPACES.length - 1] + 1), seed, /* keyBitsMax= */ 8);
  }

  @Override
  protected void step() {
    int dice = random.nextInt(1000);
    if (dice < 350) {
      put();
    } else if (dice < 400) {
      commit("delete", List.of(Change.delete(keyspace(), draw.key())));
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
      background();
    } else if (dice < 915) {
      tick();
    } else if (dice < 930) {
      advance();
    } else if (dice < 945) {
      syncWith("sync", engine()::sync);
    } else if (dice < 965) {
      syncWith("flush", engine()::flush);
    } else if (dice < 972) {
      syncWith("compact", engine()::compact);
    } else if (dice < 977) {
      syncWith("reclaim", engine()::reclaim);
    } else if (dice < 985) {
      reopen();
    } else if (dice < 992) {
      killProcess();
    } else {
      powerFailure();
    }
  }

  @Override
  protected void put() {
    boolean expires = random.nextInt(8) == 0;
    byte[] value = draw.value();
    long timeToLive = expires ? 1 + random.nextInt(100) : 0;
    long expiry = expires ? clock.millis() + timeToLive : Long.MAX_VALUE;
    byte[] key = draw.key();
    int keyspace = keyspace();
    note(
        "put "
            + keyspace
            + ":"
            + ModelState.text(key)
            + " "
            + value.length
            + (expires ? " ttl " + timeToLive : ""));
    engine().writes().put(keyspace, key, value, timeToLive);
    committed(List.of(Change.put(keyspace, key, new Cell(value, expiry))), sync());
  }

  private void batch() {
    List<Change> changes = new ArrayList<>();
    int count = random.nextInt(random.nextInt(20) == 0 ? 200 : 12);
    for (int i = 0; i < count; i++) {
      int kind = random.nextInt(24);
      if (kind == 0) {
        changes.add(draw.range(keyspace()));
      } else if (kind < 6) {
        changes.add(Change.delete(keyspace(), draw.key()));
      } else {
        changes.add(Change.put(keyspace(), draw.key(), new Cell(draw.value(), Long.MAX_VALUE)));
      }
    }
    commit("batch of " + count, changes);
  }

  private void deleteRange() {
    Change range = draw.range(keyspace());
    byte[] end = Objects.requireNonNull(range.end());
    note(
        "delete range "
            + range.space()
            + ":"
            + ModelState.text(range.key())
            + " "
            + ModelState.text(end));
    engine().writes().deleteRange(range.space(), range.key(), end);
    if (!range.isEmptyRange()) {
      committed(List.of(range), sync());
    }
  }

  private void commit(String what, List<Change> changes) {
    CommitSync when = random.nextInt(4) == 0 ? CommitSync.EVERY_COMMIT : sync();
    note(what + " " + when);
    BatchWrites buffer = new BatchWrites();
    for (Change change : changes) {
      if (change.end() != null) {
        buffer.deleteRange(change.space(), change.key(), change.end());
      } else if (change.cell() == null) {
        buffer.delete(change.space(), change.key());
      } else {
        buffer.put(change.space(), change.key(), change.cell().value(), 0);
      }
    }
    engine().writes().write(buffer, when);
    // Ranges with nothing in them are no writes, and a batch of nothing else syncs nothing.
    if (buffer.count() > 0) {
      committed(changes, when);
    }
  }

  private void compareAndSet() {
    byte[] key = draw.key();
    int keyspace = keyspace();
    byte[] now = current().value(keyspace, key, clock.millis());
    boolean match = random.nextBoolean();
    byte[] expected = match ? now : draw.value();
    byte[] value = random.nextInt(4) == 0 ? null : draw.value();
    note("cas " + ModelState.text(key) + " " + match);
    boolean applied = engine().writes().compareAndSet(keyspace, key, expected, value);
    assertEquals(Arrays.equals(now, expected), applied);
    if (applied) {
      Cell cell = value == null ? null : new Cell(value, Long.MAX_VALUE);
      committed(List.of(new Change(keyspace, key, cell, null)), sync());
    }
  }

  private void readOne() {
    byte[] key = draw.key();
    int keyspace = keyspace();
    note("get " + keyspace + ":" + ModelState.text(key));
    OpenSnapshot moment = moment();
    byte[] expected = moment.state().value(keyspace, key, clock.millis());
    assertArrayEquals(expected, engine().reads().get(keyspace, key, moment.toRead()));
    assertEquals(expected != null, engine().reads().contains(keyspace, key, moment.toRead()));
    if (random.nextInt(8) == 0) {
      List<byte[]> keys = new ArrayList<>();
      List<byte @Nullable []> values = new ArrayList<>();
      for (int i = random.nextInt(20); i > 0; i--) {
        byte[] next = random.nextInt(4) == 0 ? key : draw.key();
        keys.add(next);
        values.add(moment.state().value(keyspace, next, clock.millis()));
      }
      List<byte @Nullable []> found = engine().reads().getAll(keyspace, keys, moment.toRead());
      assertArrayEquals(values.toArray(), found.toArray());
    }
  }

  /** The present or an open snapshot. */
  private OpenSnapshot moment() {
    return snapshots.isEmpty() || random.nextBoolean()
        ? new OpenSnapshot(null, current())
        : draw.from(snapshots);
  }

  private void snapshot() {
    if (snapshots.size() < 3 && random.nextBoolean()) {
      note("snapshot");
      snapshots.add(new OpenSnapshot(engine().reads().acquireSnapshot(), current()));
    } else if (!snapshots.isEmpty()) {
      note("release");
      SnapshotLease hold = snapshots.remove(random.nextInt(snapshots.size())).hold();
      engine().reads().releaseSnapshot(Objects.requireNonNull(hold));
    }
  }

  @Override
  protected EngineModelCursor openCursor() {
    byte[] from = random.nextInt(3) == 0 ? draw.key() : null;
    byte[] to = random.nextInt(3) == 0 ? draw.key() : null;
    boolean reverse = random.nextInt(3) == 0;
    long limit = random.nextInt(4) == 0 ? random.nextInt(9) : Long.MAX_VALUE;
    int keyspace = keyspace();
    OpenSnapshot moment = moment();
    note(
        "cursor "
            + keyspace
            + ":"
            + ModelState.text(from)
            + " "
            + ModelState.text(to)
            + " "
            + reverse
            + " "
            + limit);
    List<Map.Entry<byte[], Cell>> expected =
        moment.state().entries(keyspace, from, to, clock.millis());
    if (reverse) {
      Collections.reverse(expected);
    }
    ScanBounds bounds =
        new ScanBounds(keyspace, from, to, reverse, false, limit, random.nextInt(-1, 9));
    SnapshotCursor cursor = engine().reads().cursor(bounds, moment.toRead());
    return new EngineModelCursor(cursor, expected, bounds);
  }

  @Override
  protected void opened() {
    // Nothing is kept but the engine itself.
  }

  @Override
  protected void close() {
    snapshots.clear();
    closeCursors();
    closeStore();
    checkClosed();
  }

  @Override
  protected void closeStore() {
    engine().close();
  }

  @Override
  protected void forgetSnapshots() {
    snapshots.clear();
  }

  @Override
  protected void checkAll() {
    assertEquals(List.of(), engine().verify().problems());
    assertEquals(describe(current()), describeStore());
    for (int keyspace : KEYSPACES) {
      for (Map.Entry<byte[], Cell> entry :
          current().entries(keyspace, null, null, clock.millis())) {
        byte[] found = engine().reads().get(keyspace, entry.getKey(), StoreReads.LATEST);
        assertArrayEquals(entry.getValue().value(), found);
      }
    }
  }

  @Override
  protected String describeStore() {
    StringBuilder text = new StringBuilder();
    for (int keyspace : KEYSPACES) {
      text.append(keyspace).append('\n');
      ScanBounds all = new ScanBounds(keyspace, null, null, false, false, Long.MAX_VALUE);
      try (SnapshotCursor cursor = engine().reads().cursor(all, StoreReads.LATEST)) {
        while (cursor.next()) {
          ModelState.describe(
              text, cursor.key(), new Cell(cursor.value(), cursor.expiresAtMillis()));
        }
      }
    }
    return text.toString();
  }

  @Override
  protected String describe(ModelState state) {
    StringBuilder text = new StringBuilder();
    for (int keyspace : KEYSPACES) {
      text.append(keyspace).append('\n').append(state.describe(keyspace, clock.millis()));
    }
    return text.toString();
  }

  private int keyspace() {
    return KEYSPACES[random.nextInt(3) > 0 ? 0 : random.nextInt(KEYSPACES.length)];
  }
}
