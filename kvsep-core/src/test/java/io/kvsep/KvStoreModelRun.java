package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ModelHistory;
import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Cell;
import io.kvsep.testing.ModelState.Change;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/**
 * One random history of the public calls against a model, above all of keyspaces: they are made,
 * used, dropped and made again under the same few names, with snapshots and cursors held across it,
 * batches over several of them, and the store closed, killed and cut off from power in between. The
 * engine has tiny limits and a storage that can crash.
 *
 * <p>What is checked: each read against the model; that a handle whose keyspace was dropped, or
 * that an earlier opening gave out, is refused by every call and leaves no trace; after each
 * opening the names and everything in them. Making and dropping are durable on return, so no power
 * failure may take them back; of other writes the store must hold the state after some commit not
 * older than the last one known to be synced.
 */
final class KvStoreModelRun extends ModelHistory<StoreModelCursor> {
  /** The store itself, in the model. */
  static final int DEFAULT = 0;

  private static final String[] NAMES = {"a", "b", "users", "ü", "n".repeat(255)};

  /** Where a call goes: the store itself, or a keyspace of it. */
  private record Place(int number, KeyspaceView view) {}

  private final ModelBatch batch;
  private final TreeMap<String, ModelSpace> spaces = new TreeMap<>();

  /** Of this opening. */
  private final List<ModelSpace> dropped = new ArrayList<>();

  /** Of the opening before. */
  private final List<ModelSpace> stale = new ArrayList<>();

  private final List<ModelSnapshot> snapshots = new ArrayList<>();
  private KvStore store;
  private long lastSequence;
  private int lastNumber = DEFAULT;

  KvStoreModelRun(long seed) {
    super(new CrashableStorage(), seed, /* keyBitsMax= */ 7);
    batch = new ModelBatch(random, draw, clock);
    store = new OpenStore(engine());
    if (random.nextInt(4) == 0) {
      useUpShortPrefixes();
    }
  }

  /** Ids are given in order: after this many the prefix of a keyspace takes five bytes. */
  private void useUpShortPrefixes() {
    for (int i = 234 + random.nextInt(8); i > 0; i--) {
      store.dropKeyspace(store.keyspace("filler"));
    }
    synced();
  }

  @Override
  protected void step() {
    int dice = random.nextInt(1000);
    if (dice < 570) {
      use(dice);
    } else if (dice < 610) {
      makeOrFind();
    } else if (dice < 635) {
      drop();
    } else if (dice < 680) {
      useDropped();
    } else if (dice < 690) {
      useStale();
    } else if (dice < 750) {
      scan();
    } else if (dice < 780) {
      holdCursor();
    } else if (dice < 820) {
      holdSnapshot();
    } else {
      maintain(dice);
    }
    assertEquals(snapshots.size(), store.stats().openSnapshots());
    assertEquals(cursors.size(), store.stats().openCursors());
  }

  private void use(int dice) {
    if (dice < 220) {
      put();
    } else if (dice < 250) {
      Place place = place();
      byte[] key = draw.key();
      note("delete " + place.number() + ":" + ModelState.text(key));
      place.view().delete(key);
      committed(List.of(Change.delete(place.number(), key)), sync());
    } else if (dice < 275) {
      deleteRange();
    } else if (dice < 370) {
      batch();
    } else if (dice < 390) {
      refusedBatch();
    } else if (dice < 410) {
      compareAndSet();
    } else if (dice < 425) {
      compute();
    } else if (dice < 435) {
      expire();
    } else {
      readOne();
    }
  }

  private void maintain(int dice) {
    if (dice < 880) {
      background();
    } else if (dice < 900) {
      tick();
    } else if (dice < 915) {
      advance();
    } else if (dice < 930) {
      syncWith("sync", store::sync);
    } else if (dice < 960) {
      syncWith("flush", store::flush);
    } else if (dice < 972) {
      syncWith("compact", store::compact);
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
    Place place = place();
    byte[] key = draw.key();
    byte[] value = draw.value();
    int timeToLive = random.nextInt(8) == 0 ? 1 + random.nextInt(100) : 0;
    note("put " + place.number() + ":" + ModelState.text(key) + " ttl " + timeToLive);
    if (timeToLive > 0) {
      place.view().put(key, value, Duration.ofMillis(timeToLive));
    } else if (place.number() == DEFAULT && random.nextInt(4) == 0) {
      store.put(Bytes.wrapForRead(key), Bytes.wrapForRead(value));
    } else {
      place.view().put(key, value);
    }
    committed(List.of(Change.put(place.number(), key, cell(value, timeToLive))), sync());
  }

  private void deleteRange() {
    Place place = place();
    Change range = draw.range(place.number());
    byte[] to = Objects.requireNonNull(range.end());
    note(
        "delete range "
            + place.number()
            + ":"
            + ModelState.text(range.key())
            + " "
            + ModelState.text(to));
    place.view().deleteRange(range.key(), to);
    if (!range.isEmptyRange()) {
      committed(List.of(range), sync());
    }
  }

  private void batch() {
    int count = random.nextInt(random.nextInt(20) == 0 ? 200 : 12);
    List<Change> changes = batch.fill(count, this::anySpace);
    CommitSync when = random.nextInt(4) == 0 ? CommitSync.EVERY_COMMIT : sync();
    note("batch of " + count + " " + when);
    int written = batch.batch().count();
    assertEquals(changes.stream().filter(change -> !change.isEmptyRange()).count(), written);
    // What was written once may be written again.
    for (int i = random.nextInt(10) == 0 ? 2 : 1; i > 0; i--) {
      if (when == sync()) {
        store.write(batch.batch());
      } else {
        store.write(batch.batch(), Durability.sync());
      }
      // Ranges with nothing in them are no writes, and a batch of nothing else syncs nothing.
      if (written > 0) {
        committed(changes, when);
      }
    }
  }

  /** One write among others goes to a keyspace that is no more: none of them may happen. */
  private void refusedBatch() {
    boolean gone = random.nextBoolean();
    List<ModelSpace> from = gone ? dropped : stale;
    if (from.isEmpty()) {
      return;
    }
    note("refused batch, " + (gone ? "dropped" : "stale"));
    batch.fill(random.nextInt(6), this::anySpace);
    batch.addFor(draw.from(from));
    Class<? extends RuntimeException> refusal =
        gone ? IllegalStateException.class : IllegalArgumentException.class;
    assertThrows(refusal, () -> store.write(batch.batch()));
  }

  private void compareAndSet() {
    Place place = place();
    byte[] key = draw.key();
    byte[] now = current().value(place.number(), key, clock.millis());
    byte[] expected = random.nextBoolean() ? now : draw.value();
    boolean deletes = expected != null && random.nextInt(4) == 0;
    byte[] value = draw.value();
    note("cas " + place.number() + ":" + ModelState.text(key));
    boolean applied =
        deletes
            ? place.view().compareAndDelete(key, Objects.requireNonNull(expected))
            : place.view().compareAndSet(key, expected, value);
    assertEquals(Arrays.equals(now, expected), applied);
    if (applied) {
      Cell cell = deletes ? null : cell(value, 0);
      committed(List.of(new Change(place.number(), key, cell, null)), sync());
    }
  }

  private void compute() {
    Place place = place();
    byte[] key = draw.key();
    byte[] now = current().value(place.number(), key, clock.millis());
    byte[] next = random.nextInt(4) == 0 ? null : draw.value();
    note("compute " + place.number() + ":" + ModelState.text(key));
    byte[] result =
        place
            .view()
            .compute(
                key,
                found -> {
                  assertArrayEquals(now, found);
                  return next;
                });
    assertArrayEquals(next, result);
    if (now != null || next != null) {
      Cell cell = next == null ? null : cell(next, 0);
      committed(List.of(new Change(place.number(), key, cell, null)), sync());
    }
  }

  private void expire() {
    Place place = place();
    byte[] key = draw.key();
    byte[] now = current().value(place.number(), key, clock.millis());
    int timeToLive = 1 + random.nextInt(100);
    note("expire " + place.number() + ":" + ModelState.text(key) + " ttl " + timeToLive);
    assertEquals(now != null, place.view().expire(key, Duration.ofMillis(timeToLive)));
    if (now != null) {
      committed(List.of(Change.put(place.number(), key, cell(now, timeToLive))), sync());
    }
  }

  private void readOne() {
    ModelPast past = past();
    byte[] key = draw.key();
    note("get " + past.number() + ":" + ModelState.text(key));
    past.checkReads(random, draw, key, clock.millis());
  }

  private void makeOrFind() {
    String name = NAMES[random.nextInt(NAMES.length)];
    note("keyspace " + ModelState.shortName(name));
    Keyspace handle = store.keyspace(name);
    assertEquals(name, handle.name());
    ModelSpace present = spaces.get(name);
    if (present != null) {
      assertEquals(present.handle(), handle);
      assertEquals(present.handle().hashCode(), handle.hashCode());
      return;
    }
    for (ModelSpace other : dropped) {
      assertNotEquals(other.handle(), handle, "a keyspace that was dropped is back");
    }
    ModelSpace made = new ModelSpace(++lastNumber, handle, store.in(handle));
    assertEquals("", ModelPast.describe(made.view()), "what a new keyspace holds");
    spaces.put(name, made);
    checkNames();
  }

  private void drop() {
    ModelSpace space = anySpace();
    if (space == null) {
      return;
    }
    note("drop " + ModelState.shortName(space.name()));
    // Any handle of it will do.
    store.dropKeyspace(random.nextBoolean() ? space.handle() : store.keyspace(space.name()));
    spaces.remove(space.name());
    dropped.add(space);
    settleOn(current().without(space.number()));
    checkNames();
  }

  private void useDropped() {
    if (dropped.isEmpty()) {
      return;
    }
    ModelSpace space = draw.from(dropped);
    note("use dropped " + space.number());
    if (random.nextInt(8) == 0) {
      store.dropKeyspace(space.handle());
      checkNames();
    } else {
      space.checkDropped(store, draw);
    }
  }

  private void useStale() {
    if (!stale.isEmpty()) {
      ModelSpace space = draw.from(stale);
      note("use stale " + space.number());
      List<Snapshot> open = snapshots.stream().map(ModelSnapshot::snapshot).toList();
      space.checkStale(store, draw, open, List.copyOf(spaces.values()));
    }
  }

  @Override
  protected StoreModelCursor openCursor() {
    ModelPast past = past();
    note("cursor " + past.number());
    return past.cursor(random, draw, clock.millis());
  }

  private void holdSnapshot() {
    if (snapshots.size() < 3 && random.nextBoolean()) {
      note("snapshot");
      Snapshot snapshot = store.snapshot();
      assertTrue(snapshot.sequence() >= lastSequence, "a later snapshot with a lower sequence");
      lastSequence = snapshot.sequence();
      Set<Integer> gone = dropped.stream().map(ModelSpace::number).collect(Collectors.toSet());
      snapshots.add(new ModelSnapshot(snapshot, current(), gone));
    } else if (!snapshots.isEmpty()) {
      note("release");
      ModelSnapshot open = snapshots.remove(random.nextInt(snapshots.size()));
      open.snapshot().close();
      open.checkClosed(draw.key());
      for (ModelSpace space : spaces.values()) {
        assertThrows(StoreClosedException.class, () -> open.snapshot().in(space.handle()));
      }
    }
  }

  /** Handles of the opening before become stale, and the keyspaces get new ones. */
  @Override
  protected void opened() {
    store = new OpenStore(engine());
    lastSequence = 0;
    stale.clear();
    stale.addAll(spaces.values());
    stale.addAll(dropped);
    dropped.clear();
    checkNames();
    spaces.replaceAll(
        (name, space) -> {
          Keyspace handle = store.keyspace(name);
          return new ModelSpace(space.number(), handle, store.in(handle));
        });
    checkNames();
  }

  @Override
  protected void close() {
    List<ModelSnapshot> openSnapshots = List.copyOf(snapshots);
    List<StoreModelCursor> openCursors = List.copyOf(cursors);
    if (random.nextBoolean()) {
      closeCursors();
      snapshots.forEach(open -> open.snapshot().close());
    }
    snapshots.clear();
    cursors.clear();
    store.close();
    checkClosed();
    for (StoreModelCursor cursor : openCursors) {
      cursor.checkClosed();
      cursor.close();
    }
    for (ModelSnapshot open : openSnapshots) {
      open.checkClosed(draw.key());
      open.snapshot().close();
    }
  }

  @Override
  protected void closeStore() {
    store.close();
  }

  @Override
  protected void forgetSnapshots() {
    snapshots.clear();
  }

  @Override
  protected void checkAll() {
    assertEquals(List.of(), store.verify().problems());
    checkNames();
    assertEquals(describe(current()), describeStore());
    new ModelPast(DEFAULT, store, current()).checkEach(clock.millis());
    for (ModelSpace space : spaces.values()) {
      new ModelPast(space.number(), space.view(), current()).checkEach(clock.millis());
    }
  }

  private void checkNames() {
    assertEquals(List.copyOf(spaces.keySet()), store.keyspaces());
  }

  /** All that can be seen of the store, a line an entry: key, value, expiry. */
  @Override
  protected String describeStore() {
    StringBuilder text = new StringBuilder(ModelPast.describe(store));
    for (ModelSpace space : spaces.values()) {
      text.append(space.number()).append('\n').append(ModelPast.describe(space.view()));
    }
    return text.toString();
  }

  @Override
  protected String describe(ModelState state) {
    StringBuilder text = new StringBuilder(state.describe(DEFAULT, clock.millis()));
    for (ModelSpace space : spaces.values()) {
      text.append(space.number()).append('\n');
      text.append(state.describe(space.number(), clock.millis()));
    }
    return text.toString();
  }

  private Cell cell(byte[] value, int timeToLiveMillis) {
    return new Cell(
        value, timeToLiveMillis == 0 ? Long.MAX_VALUE : clock.millis() + timeToLiveMillis);
  }

  /** The store itself or one of its keyspaces, through a view that was held or a new one. */
  private Place place() {
    ModelSpace space = anySpace();
    if (space == null) {
      return new Place(DEFAULT, store);
    }
    KeyspaceView view = random.nextBoolean() ? space.view() : store.in(space.handle());
    return new Place(space.number(), view);
  }

  /** A place in the present, or in a snapshot, which also shows what was dropped meanwhile. */
  private ModelPast past() {
    if (snapshots.isEmpty() || random.nextBoolean()) {
      Place place = place();
      return new ModelPast(place.number(), place.view(), current());
    }
    ModelSnapshot open = draw.from(snapshots);
    ModelSpace space =
        !dropped.isEmpty() && random.nextInt(3) == 0 ? draw.from(dropped) : anySpace();
    return space == null ? open.past() : open.past(space, random.nextBoolean());
  }

  /** One that is there, or null for the store itself. */
  private @Nullable ModelSpace anySpace() {
    return spaces.isEmpty() || random.nextInt(3) == 0
        ? null
        : draw.from(List.copyOf(spaces.values()));
  }
}
