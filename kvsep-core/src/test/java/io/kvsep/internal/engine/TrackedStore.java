package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.CrashPromise.Found;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualClock;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * An engine that does steps out of the whole vocabulary of a store and keeps account of what they
 * promised: contents by commit, keyspaces, and what a failure leaves open. So at any moment, also
 * in the middle of a step, {@link #promise} says what a crash may leave. Not thread safe.
 */
public final class TrackedStore {
  /** What can be done; the n-th step of a run always uses the same keys and values. */
  public enum Step {
    PUT,
    PUT_SYNCED,
    PUT_LARGE,
    /** A value longer than a segment, where segments are short. */
    PUT_HUGE,
    PUT_EXPIRING,
    BATCH,
    BATCH_SYNCED,
    DELETE,
    /** Puts a key in the middle of a range, deletes the range and puts another one. */
    DELETE_RANGE,
    /** Makes a keyspace if there is none. */
    MAKE,
    /** Writes to a keyspace and beside it; makes it before if there is none. */
    PUT_IN,
    DROP,
    SYNC,
    FLUSH,
    COMPACT,
    RECLAIM,
    /** Loads some entries past the log, keys in no order and one of them twice. */
    LOAD,
    BACKGROUND,
    /** Lets what expires be expired. */
    ADVANCE,
    /** Closes the store and opens it again. */
    REOPEN,
    /** Kills the process and opens the store again. */
    KILL,
    GET,
    GET_ALL,
    SNAPSHOT,
    SCAN,
    SCAN_BACK;

    /** Whether this only looks. */
    public boolean reads() {
      return compareTo(GET) >= 0;
    }
  }

  static final int KEYS = 6;
  private static final String SPACE = "a";
  private static final int TTL_MILLIS = 50;

  private final OptionSet options;
  private final ManualClock clock;
  private final SteppedEngine stepped = new SteppedEngine();
  private final CommitAccount<StoreContent> account = new CommitAccount<>(StoreContent.EMPTY);
  private final FirstFailure failure = new FirstFailure(/* strict= */ true);
  private final Map<String, Integer> names = new TreeMap<>();

  /** Stands between the engine and the storage. */
  private final UnaryOperator<Storage> disguise;

  private CrashableStorage storage;
  private @Nullable Consumer<CrashableStorage> watcher;
  private @Nullable Consumer<CrashableStorage> preparation;

  /** The keyspaces, as printed, if what is being done to them happens, or what failed did. */
  private final Set<String> otherNames = new LinkedHashSet<>();

  /** Whether the device fails now and then. */
  private boolean faulty;

  private boolean readsEndEarly;
  private boolean open;
  private boolean closed;

  /** Whether the name of the keyspace may be gone although dropping it failed. */
  private boolean halfDropped;

  /** Of the keyspace that was made last. */
  private int lastId;

  private int stepNumber;

  public TrackedStore(CrashableStorage storage, OptionSet options) {
    this(storage, options, new ManualClock(1_000), plain -> plain);
  }

  TrackedStore(
      CrashableStorage storage,
      OptionSet options,
      ManualClock clock,
      UnaryOperator<Storage> disguise) {
    this.storage = storage;
    this.options = options;
    this.clock = clock;
    this.disguise = disguise;
  }

  public void open() {
    stepped.open(scheduler -> options.config(disguise.apply(storage), clock, scheduler));
    open = true;
    closed = false;
  }

  /** Whether the last opening succeeded. */
  boolean isOpen() {
    return open;
  }

  boolean isClosed() {
    return closed;
  }

  /** Does something to the storage that there is, and to whatever takes its place. */
  void onEachStorage(Consumer<CrashableStorage> preparation) {
    this.preparation = preparation;
    preparation.accept(storage);
  }

  public StorageEngine engine() {
    return stepped.get();
  }

  public CrashableStorage storage() {
    return storage;
  }

  /** As {@link CrashableStorage#watch}, of whatever storage there is from now on. */
  public void watch(Consumer<CrashableStorage> watcher) {
    this.watcher = watcher;
    storage.watch(watcher);
  }

  /** Whether a failure has made writing unsafe. */
  boolean hasFailed() {
    return failure.happened();
  }

  /** From now on the device may fail in this way, once or for ever. */
  void expect(Fault fault, boolean lasts) {
    faulty = true;
    // Then what was written can be cut off no more than anything else can be done.
    if (lasts && fault == Fault.LATE_EIO) {
      account.failsLate();
    }
    // That looks like damage.
    readsEndEarly |= fault == Fault.EARLY_EOF;
  }

  public long nowMillis() {
    return clock.millis();
  }

  public StoreContent current() {
    return account.current();
  }

  /** What a crash may leave now. */
  public CrashPromise promise() {
    return promise(account.allowed());
  }

  /** What there may be after the death of the process alone, which loses nothing acknowledged. */
  CrashPromise promiseWhenKilled() {
    return promise(account.allowedWhenKilled());
  }

  private CrashPromise promise(List<StoreContent> allowed) {
    Set<String> allowedNames = new LinkedHashSet<>(otherNames);
    allowedNames.add(names());
    return new CrashPromise(clock.millis(), allowed, allowedNames);
  }

  /** Takes what was found for what there is, and nothing else is possible any more. */
  void settleOn(Found found) {
    account.settleOn(found.content());
    names.clear();
    for (String name : engine().keyspaces().names()) {
      int id = engine().keyspaces().open(name);
      names.put(name, id);
      lastId = Math.max(lastId, id);
    }
    assertEquals(found.names(), names());
    otherNames.clear();
    halfDropped = false;
    stepNumber = 1_000;
  }

  /** Runs one step; whether it succeeded. Only the errors of the contract may come out. */
  public boolean run(Step step) {
    boolean succeeded = runOnly(step);
    if (options.runsBackground && step != Step.BACKGROUND && !step.reads()) {
      background();
    }
    return succeeded;
  }

  private boolean runOnly(Step step) {
    int number = stepNumber++;
    return switch (step) {
      case PUT -> write(number, 1, 40 + 37 * number % 150, /* withSync= */ false);
      case PUT_SYNCED -> write(number, 1, 40 + 37 * number % 150, /* withSync= */ true);
      case PUT_LARGE -> write(number, 1, 1_700, /* withSync= */ false);
      case PUT_HUGE -> write(number, 1, 6_500, /* withSync= */ false);
      case PUT_EXPIRING -> putExpiring(number);
      case BATCH -> write(number, 3, 90, /* withSync= */ false);
      case BATCH_SYNCED -> write(number, 3, 90, /* withSync= */ true);
      case DELETE -> write(number, 0, 0, /* withSync= */ false);
      case DELETE_RANGE -> deleteRange(number);
      case MAKE -> make();
      case PUT_IN -> make() && putIn(number);
      case DROP -> drop();
      case SYNC -> maintain(StorageEngine::sync);
      case FLUSH -> maintain(StorageEngine::flush);
      case COMPACT -> maintain(StorageEngine::compact);
      case RECLAIM -> maintain(StorageEngine::reclaim);
      case LOAD -> load(number);
      case BACKGROUND -> background();
      case ADVANCE -> {
        clock.advance(TTL_MILLIS);
        yield true;
      }
      case REOPEN -> {
        boolean succeeded = close();
        reopen();
        yield succeeded;
      }
      case KILL -> {
        CrashableStorage left = storage.crashKeepingAll();
        if (!closed) {
          abandon();
        }
        storage = left;
        reopen();
        yield true;
      }
      case GET, GET_ALL, SNAPSHOT, SCAN, SCAN_BACK -> look(step);
    };
  }

  private void reopen() {
    // A storage that was closed cannot be opened again; what is pending in it stays pending.
    storage = storage.crashKeepingAll();
    storage.watch(watcher);
    if (preparation != null) {
      preparation.accept(storage);
    }
    open = false;
    open();
    failure.forget();
    requireWhole();
  }

  /** Without a power failure everything that was acknowledged is there. */
  private void requireWhole() {
    account.sync();
    Found found = Found.in(engine());
    promise().check(found);
    int number = stepNumber;
    settleOn(found);
    stepNumber = number;
  }

  /** Closes; whether that succeeded, in which case everything is synced. */
  public boolean close() {
    boolean succeeded = maintain(StorageEngine::close);
    closed = true;
    assertEquals(0, engine().memoryBytes(), "off-heap bytes after close");
    assertEquals(List.of(), storage.openFiles(), "open files after close");
    return succeeded;
  }

  /** Gives the engine's memory back; the storage is gone or of no interest any more. */
  public void abandon() {
    stepped.abandon();
  }

  /** Every kind of read gives what the last commit that succeeded left. */
  public void checkReads() {
    for (Step step : Step.values()) {
      if (step.reads()) {
        reads().check(step);
      }
    }
  }

  private boolean look(Step step) {
    try {
      reads().check(step);
      return true;
    } catch (StorageException e) {
      return false;
    } catch (CorruptionException e) {
      if (!readsEndEarly) {
        throw e;
      }
      return false;
    }
  }

  private TrackedReads reads() {
    return new TrackedReads(engine(), current(), clock.millis());
  }

  private boolean background() {
    stepped.background();
    // The timer syncs, too. On a device that fails only a later write tells whether it could.
    if (options.sync == CommitSync.INTERVAL && !faulty) {
      account.sync();
    }
    return true;
  }

  private boolean write(int number, int puts, int valueLength, boolean withSync) {
    BatchWrites buffer = new BatchWrites();
    StoreContent next = current();
    for (int i = 0; i < puts; i++) {
      byte[] value = TrackedEngine.value(number + i, valueLength);
      buffer.put(0, bytes(number + i), value, 0);
      next = next.with(0, key(number + i), value, Long.MAX_VALUE);
    }
    if (puts != 1) {
      buffer.delete(0, bytes(number + puts));
      next = next.without(0, key(number + puts));
    }
    return commit(buffer, next, withSync);
  }

  private boolean putExpiring(int number) {
    BatchWrites buffer = new BatchWrites();
    byte[] value = TrackedEngine.value(number, 120);
    buffer.put(0, bytes(number), value, TTL_MILLIS);
    StoreContent next = current().with(0, key(number), value, clock.millis() + TTL_MILLIS);
    return commit(buffer, next, /* withSync= */ false);
  }

  private boolean deleteRange(int number) {
    BatchWrites buffer = new BatchWrites();
    int from = number % (KEYS - 2);
    String end = "key-" + (from + 3);
    byte[] value = TrackedEngine.value(number, 70);
    buffer.put(0, bytes(from + 1), value, 0);
    buffer.deleteRange(0, bytes(from), end.getBytes(UTF_8));
    buffer.put(0, bytes(from + 2), value, 0);
    StoreContent next =
        current().withoutRange(0, key(from), end).with(0, key(from + 2), value, Long.MAX_VALUE);
    return commit(buffer, next, /* withSync= */ false);
  }

  private boolean putIn(int number) {
    Integer id = names.get(SPACE);
    if (id == null) {
      return false;
    }
    BatchWrites buffer = new BatchWrites();
    byte[] value = TrackedEngine.value(number, 60 + 100 * (number % 3));
    buffer.put(id, bytes(number), value, 0);
    buffer.put(0, bytes(number + 1), value, 0);
    StoreContent next =
        current()
            .with(id, key(number), value, Long.MAX_VALUE)
            .with(0, key(number + 1), value, Long.MAX_VALUE);
    return commit(buffer, next, /* withSync= */ false);
  }

  private boolean make() {
    Integer present = names.get(SPACE);
    if (present != null && !halfDropped) {
      assertEquals(present, engine().keyspaces().open(SPACE), "the id of a keyspace");
      return true;
    }
    otherNames.add("");
    otherNames.add(CrashPromise.named(SPACE, lastId + 1));
    int made;
    try {
      made = engine().keyspaces().open(SPACE);
    } catch (StorageException | StoreFailedException e) {
      failure.note(e);
      return false;
    }
    assertTrue(made > lastId, "an id is used again");
    names.put(SPACE, made);
    lastId = made;
    otherNames.clear();
    halfDropped = false;
    return true;
  }

  private boolean drop() {
    Integer id = names.get(SPACE);
    if (id == null) {
      return true;
    }
    StoreContent emptied = current().withoutKeyspace(id);
    account.begin(emptied);
    otherNames.add("");
    try {
      engine().keyspaces().drop(id);
    } catch (StorageException | StoreFailedException e) {
      dropFailed(e, id, emptied);
      return false;
    } finally {
      account.end();
    }
    names.remove(SPACE);
    otherNames.clear();
    halfDropped = false;
    account.add(emptied);
    account.sync();
    return true;
  }

  /** Either nothing has happened, or the keyspace is emptied and its name may be gone. */
  private void dropFailed(KvException error, int id, StoreContent emptied) {
    boolean failedBefore = hasFailed();
    failure.note(error);
    if (isShut(id)) {
      halfDropped = true;
      account.add(emptied);
      account.sync();
      return;
    }
    if (!halfDropped) {
      otherNames.clear();
    }
    account.fail(emptied, hasFailed() && !failedBefore);
  }

  private boolean isShut(int id) {
    try {
      engine().keyspaces().requirePresent(id);
      return false;
    } catch (IllegalStateException e) {
      return true;
    }
  }

  private boolean commit(BatchWrites buffer, StoreContent next, boolean withSync) {
    boolean failedBefore = hasFailed();
    account.begin(next);
    try {
      engine().writes().write(buffer, withSync ? CommitSync.EVERY_COMMIT : null);
    } catch (StorageException | StoreFailedException e) {
      failure.note(e);
      account.fail(next, e instanceof StoreFailedException && !failedBefore);
      return false;
    } finally {
      account.end();
    }
    assertTrue(!failedBefore, "a write succeeded after the store had failed");
    account.acknowledge(next);
    if (withSync || options.sync == CommitSync.EVERY_COMMIT) {
      account.sync();
    }
    return true;
  }

  private boolean load(int number) {
    boolean failedBefore = hasFailed();
    StoreContent next = current();
    List<TestLoad.Item> entries = new ArrayList<>();
    int[] lengths = {30, 200, 5_000, 90, 1_700};
    for (int i = 0; i < lengths.length; i++) {
      int key = number + (i + 1) * (KEYS - 2);
      byte[] value = TrackedEngine.value(number + i, lengths[i]);
      entries.add(new TestLoad.Item(bytes(key), value));
      next = next.with(0, key(key), value, Long.MAX_VALUE);
    }
    account.begin(next);
    try {
      engine().loads().load(0, new TestLoad(entries));
    } catch (StorageException | StoreFailedException e) {
      failure.note(e);
      account.fail(next, e instanceof StoreFailedException && !failedBefore);
      account.failOpenly(next);
      return false;
    } catch (CorruptionException e) {
      if (!readsEndEarly) {
        throw e;
      }
      return false;
    } finally {
      account.end();
    }
    assertTrue(!failedBefore, "a load succeeded after the store had failed");
    account.acknowledge(next);
    account.sync();
    return true;
  }

  /** Does something after which all is synced; whether it succeeded. */
  public boolean maintain(Consumer<StorageEngine> work) {
    boolean failedBefore = hasFailed();
    try {
      work.accept(engine());
    } catch (StorageException | StoreFailedException e) {
      failure.note(e);
      return false;
    } catch (CorruptionException e) {
      if (!readsEndEarly) {
        throw e;
      }
      return false;
    }
    if (!failedBefore) {
      account.sync();
    }
    return !failedBefore;
  }

  private String names() {
    StringBuilder text = new StringBuilder();
    names.forEach((name, id) -> text.append(CrashPromise.named(name, id)));
    return text.toString();
  }

  private static String key(int number) {
    return "key-" + number % KEYS;
  }

  private static byte[] bytes(int number) {
    return TrackedEngine.key(number % KEYS);
  }
}
