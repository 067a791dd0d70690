package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ModelHistory;
import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Cell;
import io.kvsep.testing.ModelState.Change;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One random history of transactions against a model: several are open at a time, in two spaces,
 * with cursors that stay open while they write, among writes of others, flushes, compactions and
 * crashes. The engine has tiny limits.
 *
 * <p>What is checked: each read against what the transaction began with and its own writes; of each
 * commit, whether it meets a conflict, which is known but for the ranges at the ends of some scans;
 * that a transaction which lost wrote nothing; everything after each opening.
 */
final class TransactionModelRun extends ModelHistory<StoreModelCursor> {
  private static final int DEFAULT = 0;
  private static final int USERS = 1;

  private static final class Open {
    final Transaction transaction;
    final TransactionModel model;
    final List<StoreModelCursor> cursors = new ArrayList<>();

    Open(Transaction transaction, TransactionModel model) {
      this.transaction = transaction;
      this.model = model;
    }
  }

  private final List<Open> open = new ArrayList<>();
  private KvStore store;
  private Keyspace users;
  int committed;
  int conflicts;

  TransactionModelRun(long seed) {
    super(new CrashableStorage(), seed, /* keyBitsMax= */ 6);
    store = new OpenStore(engine());
    users = store.keyspace("users");
  }

  @Override
  protected void step() {
    int dice = random.nextInt(1000);
    if (dice < 60) {
      begin();
    } else if (dice < 300) {
      write();
    } else if (dice < 450) {
      read();
    } else if (dice < 600) {
      walk();
    } else if (dice < 660) {
      end();
    } else if (dice < 800) {
      put();
    } else if (dice < 830) {
      deleteRange();
    } else if (dice < 900) {
      background();
    } else if (dice < 920) {
      tick();
    } else if (dice < 935) {
      advanceAll();
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
    assertEquals(open.size(), store.stats().openSnapshots());
    assertEquals(
        open.stream().mapToInt(each -> each.cursors.size()).sum(), store.stats().openCursors());
  }

  private void begin() {
    if (open.size() < 4) {
      note("begin");
      open.add(new Open(store.begin(), new TransactionModel(current())));
    }
  }

  private @Nullable Open any() {
    return open.isEmpty() ? null : draw.from(open);
  }

  private KvReader reader(Open in, int space) {
    return space == DEFAULT ? in.transaction : in.transaction.in(users);
  }

  private void write() {
    Open in = any();
    if (in == null) {
      return;
    }
    int space = random.nextInt(2);
    byte[] key = draw.key();
    KvView writer = space == DEFAULT ? in.transaction : in.transaction.in(users);
    int kind = random.nextInt(22);
    note("write " + open.indexOf(in) + " " + kind + " " + space + ":" + ModelState.text(key));
    if (kind < 4) {
      writer.delete(key);
      in.model.write(Change.delete(space, key));
    } else if (kind < 6) {
      Change range = draw.range(space);
      writer.deleteRange(range.key(), Objects.requireNonNull(range.end()));
      in.model.write(range);
    } else if (kind < 8) {
      increment(in, writer, space, key);
    } else if (kind == 8) {
      byte[] value = draw.value();
      writer.put(key, value, Duration.ofMillis(20));
      in.model.write(Change.put(space, key, new Cell(value, clock.millis() + 20)));
    } else if (kind == 9) {
      compute(in, writer, space, key);
    } else if (kind == 10) {
      byte[] value = in.model.state().value(space, key, clock.millis());
      in.model.readKey(space, key);
      assertEquals(value != null, writer.expire(key, Duration.ofMillis(20)));
      if (value != null) {
        in.model.write(Change.put(space, key, new Cell(value, clock.millis() + 20)));
      }
    } else {
      byte[] value = draw.value();
      writer.put(key, value);
      in.model.write(Change.put(space, key, new Cell(value, Long.MAX_VALUE)));
    }
  }

  private void compute(Open in, KvView writer, int space, byte[] key) {
    byte[] value = in.model.state().value(space, key, clock.millis());
    in.model.readKey(space, key);
    byte[] next = random.nextInt(3) == 0 ? null : draw.value();
    byte[] result =
        writer.compute(
            key,
            found -> {
              assertArrayEquals(value, found);
              return next;
            });
    assertArrayEquals(next, result);
    if (next != null) {
      in.model.write(Change.put(space, key, new Cell(next, Long.MAX_VALUE)));
    } else if (value != null) {
      in.model.write(Change.delete(space, key));
    }
  }

  private void increment(Open in, KvWriter writer, int space, byte[] key) {
    byte[] value = in.model.state().value(space, key, clock.millis());
    in.model.readKey(space, key);
    if (value != null && value.length != 8) {
      assertThrows(IllegalArgumentException.class, () -> writer.increment(key, 1));
      return;
    }
    long sum = (value == null ? 0 : ByteBuffer.wrap(value).getLong()) + 1;
    if (sum == Long.MIN_VALUE) {
      return;
    }
    assertEquals(sum, writer.increment(key, 1));
    byte[] next = ByteBuffer.allocate(8).putLong(sum).array();
    in.model.write(Change.put(space, key, new Cell(next, Long.MAX_VALUE)));
  }

  private void read() {
    Open in = any();
    if (in != null) {
      byte[] key = draw.key();
      note("read " + open.indexOf(in) + " " + ModelState.text(key));
      past(in).checkReads(random, draw, key, clock.millis());
    }
  }

  private void walk() {
    Open in = any();
    if (in == null) {
      return;
    }
    note("walk " + open.indexOf(in));
    if (in.cursors.isEmpty() || (in.cursors.size() < 3 && random.nextBoolean())) {
      in.cursors.add(past(in).cursor(random, draw, clock.millis()));
    }
    StoreModelCursor cursor = draw.from(in.cursors);
    for (int i = random.nextInt(12); i >= 0; i--) {
      cursor.anywhere(random, draw::key);
    }
    if (random.nextInt(3) == 0) {
      cursor.close();
      in.cursors.remove(cursor);
    }
  }

  private ModelPast past(Open in) {
    int space = random.nextInt(2);
    KvReader reader = new TrackedTransactionReader(reader(in, space), in.model, space);
    return new ModelPast(space, reader, in.model.state());
  }

  private void end() {
    Open in = any();
    if (in == null) {
      return;
    }
    note("end " + open.indexOf(in));
    open.remove(in);
    List<Change> changes = in.model.own();
    if (random.nextInt(5) == 0) {
      in.transaction.rollback();
    } else if (in.model.mustConflict(current(), clock.millis())) {
      conflicts++;
      assertThrows(ConflictException.class, in.transaction::commit, in.model::toString);
    } else {
      try {
        in.transaction.commit();
        committed++;
        if (!changes.isEmpty()) {
          written(stamped(changes));
        }
      } catch (ConflictException e) {
        conflicts++;
        assertTrue(in.model.mayConflict(), "a conflict without another write");
      }
    }
    assertThrows(StoreClosedException.class, () -> in.transaction.get(draw.key()));
    assertThrows(StoreClosedException.class, () -> in.transaction.in(users));
    assertThrows(StoreClosedException.class, in.transaction::commit);
    in.cursors.forEach(StoreModelCursor::checkClosed);
    in.transaction.close();
  }

  /** Times to live count from the commit. */
  private List<Change> stamped(List<Change> changes) {
    List<Change> stamped = new ArrayList<>();
    for (Change change : changes) {
      Cell cell = change.cell();
      stamped.add(
          cell == null || cell.expiresAtMillis() == Long.MAX_VALUE
              ? change
              : Change.put(
                  change.space(), change.key(), new Cell(cell.value(), clock.millis() + 20)));
    }
    return stamped;
  }

  private void written(List<Change> changes) {
    committed(changes, sync());
    open.forEach(other -> other.model.committed(changes));
  }

  @Override
  protected void put() {
    int space = random.nextInt(2);
    byte[] key = draw.key();
    note("put " + space + ":" + ModelState.text(key));
    KvWriter writer = space == DEFAULT ? store : store.in(users);
    if (random.nextInt(4) == 0) {
      writer.delete(key);
      written(List.of(Change.delete(space, key)));
    } else {
      byte[] value = random.nextInt(4) == 0 ? new byte[8] : draw.value();
      writer.put(key, value);
      written(List.of(Change.put(space, key, new Cell(value, Long.MAX_VALUE))));
    }
  }

  private void deleteRange() {
    int space = random.nextInt(2);
    Change range = draw.range(space);
    note("delete range " + space + ":" + ModelState.text(range.key()));
    KvWriter writer = space == DEFAULT ? store : store.in(users);
    writer.deleteRange(range.key(), Objects.requireNonNull(range.end()));
    if (!range.isEmptyRange()) {
      written(List.of(range));
    }
  }

  /** What a transaction shows changes with the time, and the model's own writes do not. */
  private void advanceAll() {
    closeTransactions();
    advance();
  }

  private void closeTransactions() {
    open.forEach(each -> each.transaction.close());
    open.clear();
  }

  @Override
  protected StoreModelCursor openCursor() {
    throw new AssertionError("cursors belong to transactions here");
  }

  @Override
  protected void opened() {
    store = new OpenStore(engine());
    users = store.keyspace("users");
  }

  @Override
  protected void close() {
    List<Open> before = List.copyOf(open);
    if (random.nextBoolean()) {
      closeTransactions();
    }
    open.clear();
    store.close();
    checkClosed();
    for (Open each : before) {
      assertThrows(StoreClosedException.class, () -> each.transaction.get(draw.key()));
      assertThrows(StoreClosedException.class, () -> each.transaction.put(draw.key(), draw.key()));
      each.cursors.forEach(StoreModelCursor::checkClosed);
      assertThrows(StoreClosedException.class, each.transaction::commit);
      each.transaction.close();
    }
  }

  @Override
  protected void closeStore() {
    store.close();
  }

  @Override
  protected void forgetSnapshots() {
    open.clear();
  }

  @Override
  protected void checkAll() {
    assertEquals(List.of(), store.verify().problems());
    assertEquals(describe(current()), describeStore());
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
