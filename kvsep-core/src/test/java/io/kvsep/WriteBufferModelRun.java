package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ModelHistory;
import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Cell;
import io.kvsep.testing.ModelState.Change;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * One random history of a write buffer against a model, in two spaces, beside direct writes of the
 * same keys, flushes, compactions and crashes. The engine has tiny limits.
 *
 * <p>What is checked: each read against the newest state with the buffer's writes over it, cursors
 * against the moment when they were made, also after a commit; that a commit writes all of it, with
 * the batch behind it, and leaves the buffer empty; that nothing uncommitted is in the store.
 */
final class WriteBufferModelRun extends ModelHistory<StoreModelCursor> {
  private static final int DEFAULT = 0;
  private static final int USERS = 1;

  /** A write of the buffer; its time to live counts from the commit, 0 for none. */
  private record Own(Change change, int timeToLiveMillis) {
    Change at(long nowMillis) {
      Cell cell = change.cell();
      return cell == null || timeToLiveMillis == 0
          ? change
          : Change.put(
              change.space(), change.key(), new Cell(cell.value(), nowMillis + timeToLiveMillis));
    }
  }

  private final List<Own> own = new ArrayList<>();
  private KvStore store;
  private Keyspace users;
  private WriteBuffer buffer;
  int committed;

  WriteBufferModelRun(long seed) {
    super(new CrashableStorage(), seed, /* keyBitsMax= */ 6);
    store = new OpenStore(engine());
    users = store.keyspace("users");
    buffer = store.buffer();
  }

  @Override
  protected void step() {
    int dice = random.nextInt(1000);
    if (dice < 300) {
      write();
    } else if (dice < 500) {
      read();
    } else if (dice < 560) {
      scan();
    } else if (dice < 640) {
      holdCursor();
    } else if (dice < 680) {
      commit();
    } else if (dice < 690) {
      note("discard");
      buffer.discard();
      own.clear();
    } else if (dice < 800) {
      put();
    } else if (dice < 900) {
      background();
    } else if (dice < 920) {
      tick();
    } else if (dice < 935) {
      advance();
    } else if (dice < 960) {
      syncWith("flush", store::flush);
    } else if (dice < 975) {
      syncWith("compact", store::compact);
    } else if (dice < 984) {
      reopen();
    } else if (dice < 992) {
      killProcess();
    } else {
      powerFailure();
    }
    assertEquals(cursors.size(), store.stats().openCursors());
  }

  private List<Change> changes() {
    return own.stream().map(each -> each.at(clock.millis())).toList();
  }

  private ModelState seen() {
    return current().with(changes());
  }

  private void write() {
    int space = random.nextInt(2);
    byte[] key = draw.key();
    KvView view = space == DEFAULT ? buffer : buffer.in(users);
    int kind = random.nextInt(12);
    note("write " + kind + " " + space + ":" + ModelState.text(key));
    if (kind < 2) {
      view.delete(key);
      own.add(new Own(Change.delete(space, key), 0));
    } else if (kind < 4) {
      Change range = draw.range(space);
      view.deleteRange(range.key(), Objects.requireNonNull(range.end()));
      if (!range.isEmptyRange()) {
        own.add(new Own(range, 0));
      }
    } else if (kind < 6) {
      int timeToLive = 1 + random.nextInt(60);
      byte[] value = draw.value();
      view.put(key, value, Duration.ofMillis(timeToLive));
      own.add(own(space, key, value, timeToLive));
    } else if (kind == 6) {
      byte[] value = seen().value(space, key, clock.millis());
      assertEquals(value != null, view.expire(key, Duration.ofMillis(30)));
      if (value != null) {
        own.add(own(space, key, value, 30));
      }
    } else if (kind == 7) {
      byte[] expected = seen().value(space, key, clock.millis());
      byte[] value = draw.value();
      view.compute(
          key,
          found -> {
            assertArrayEquals(expected, found);
            return value;
          });
      own.add(own(space, key, value, 0));
    } else {
      byte[] value = draw.value();
      view.put(key, value);
      own.add(own(space, key, value, 0));
    }
  }

  private static Own own(int space, byte[] key, byte[] value, int timeToLiveMillis) {
    return new Own(Change.put(space, key, new Cell(value, Long.MAX_VALUE)), timeToLiveMillis);
  }

  private void read() {
    byte[] key = draw.key();
    int space = random.nextInt(2);
    note("read " + space + ":" + ModelState.text(key));
    past(space).checkReads(random, draw, key, clock.millis());
  }

  /** The buffer, or the store itself, in which nothing of it may be seen. */
  private ModelPast past(int space) {
    if (random.nextInt(5) == 0) {
      return new ModelPast(space, space == DEFAULT ? store : store.in(users), current());
    }
    return new ModelPast(space, space == DEFAULT ? buffer : buffer.in(users), seen());
  }

  @Override
  protected StoreModelCursor openCursor() {
    note("cursor");
    return past(random.nextInt(2)).cursor(random, draw, clock.millis());
  }

  private void commit() {
    note("commit");
    List<Change> changes = new ArrayList<>(changes());
    if (random.nextBoolean()) {
      byte[] key = draw.key();
      byte[] value = draw.value();
      WriteBatch extra = new WriteBatch().in(users).put(key, value).inDefault().delete(key);
      changes.add(Change.put(USERS, key, new Cell(value, Long.MAX_VALUE)));
      changes.add(Change.delete(DEFAULT, key));
      buffer.commit(extra);
    } else {
      buffer.commit();
    }
    committed++;
    own.clear();
    assertEquals(0, buffer.bytes());
    if (!changes.isEmpty()) {
      committed(changes, sync());
    }
  }

  @Override
  protected void put() {
    int space = random.nextInt(2);
    byte[] key = draw.key();
    byte[] value = draw.value();
    note("put " + space + ":" + ModelState.text(key));
    (space == DEFAULT ? store : store.in(users)).put(key, value);
    committed(List.of(Change.put(space, key, new Cell(value, Long.MAX_VALUE))), sync());
  }

  @Override
  protected void opened() {
    store = new OpenStore(engine());
    users = store.keyspace("users");
    buffer = store.buffer();
    own.clear();
  }

  @Override
  protected void close() {
    List<StoreModelCursor> open = List.copyOf(cursors);
    cursors.clear();
    if (random.nextBoolean()) {
      buffer.close();
    }
    store.close();
    for (StoreModelCursor cursor : open) {
      cursor.checkClosed();
      cursor.close();
    }
    assertThrows(StoreClosedException.class, () -> buffer.get(draw.key()));
    assertThrows(StoreClosedException.class, () -> buffer.put(draw.key(), draw.key()));
    assertThrows(StoreClosedException.class, () -> buffer.commit());
    buffer.close();
    checkClosed();
  }

  @Override
  protected void closeStore() {
    store.close();
  }

  @Override
  protected void forgetSnapshots() {}

  @Override
  protected void checkAll() {
    assertEquals(List.of(), store.verify().problems());
    assertEquals(describe(current()), describeStore());
    assertEquals(seen().describe(USERS, clock.millis()), ModelPast.describe(buffer.in(users)));
  }

  @Override
  protected String describeStore() {
    return ModelPast.describe(store) + "\n" + ModelPast.describe(store.in(users));
  }

  @Override
  protected String describe(ModelState state) {
    return state.describe(DEFAULT, clock.millis()) + "\n" + state.describe(USERS, clock.millis());
  }
}
