package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An engine that does fixed steps and keeps account of what they promised: every state a commit
 * left, which of them is known to be synced, and the one write whose failure left open whether it
 * happened. Checks what a recovered engine holds against that account. Not thread safe.
 */
public final class TrackedEngine {
  /** What can be done; the n-th step of a run always uses the same keys and values. */
  public enum Step {
    PUT,
    PUT_SYNCED,
    PUT_LARGE,
    BATCH,
    BATCH_SYNCED,
    DELETE,
    /** Puts a key in the middle of a range, deletes the range and puts another one. */
    DELETE_RANGE,
    SYNC,
    FLUSH,
    COMPACT,
    RECLAIM,
    BACKGROUND
  }

  /** Options that differ in where the values are; all leave syncing to the caller. */
  public enum Variant {
    SEPARATED(OptionSet.SEPARATED),
    INLINE(OptionSet.INLINE),
    LOG_ONLY(OptionSet.LOG_ONLY);

    private final OptionSet options;

    Variant(OptionSet options) {
      this.options = options;
    }

    public EngineConfig config(CrashableStorage storage, ManualScheduler scheduler) {
      return options.config(storage, new ManualClock(1_000), scheduler);
    }
  }

  private static final int KEYS = 6;

  private final Variant variant;
  private final SteppedEngine stepped = new SteppedEngine();
  private final CommitAccount<NavigableMap<byte[], byte[]>> account =
      new CommitAccount<>(new TreeMap<>(Arrays::compareUnsigned));
  private final FirstFailure failure;
  private final boolean crashes;
  private CrashableStorage storage;
  private boolean stopped;
  private int stepNumber;

  /**
   * @param crashes whether the storage is going to stop in the middle of something: then the write
   *     under way may have happened, whatever its error
   */
  public TrackedEngine(CrashableStorage storage, Variant variant, boolean crashes) {
    this.storage = storage;
    this.variant = variant;
    this.crashes = crashes;
    this.failure = new FirstFailure(/* strict= */ !crashes);
  }

  public void open() {
    stepped.open(scheduler -> variant.config(storage, scheduler));
  }

  /** Opens it on a storage in front of the one that is checked. */
  void openThrough(Storage front) {
    stepped.open(scheduler -> variant.config(storage, scheduler).with(front, scheduler));
  }

  public StorageEngine engine() {
    return stepped.get();
  }

  CrashableStorage storage() {
    return storage;
  }

  /** Whether a step failed because of a crash, so that nothing more can be done. */
  boolean isStopped() {
    return stopped;
  }

  /** Whether a failure has made writing unsafe. */
  boolean hasFailed() {
    return failure.happened();
  }

  /** The state that readers have to see. */
  public NavigableMap<byte[], byte[]> current() {
    return account.current();
  }

  /** Forgets that anything but {@code state} is possible. */
  void settleOn(NavigableMap<byte[], byte[]> state) {
    account.settleOn(state);
    failure.forget();
    stopped = false;
  }

  /** From now on writes may fail with all their bytes in the file. */
  void failsLate() {
    account.failsLate();
  }

  /** Runs one step; whether it succeeded. Only the errors of the contract may come out. */
  public boolean run(Step step) {
    int number = stepNumber++;
    return switch (step) {
      case PUT -> write(number, 1, 40 + 37 * number % 150, /* synced= */ false);
      case PUT_SYNCED -> write(number, 1, 40 + 37 * number % 150, /* synced= */ true);
      case PUT_LARGE -> write(number, 1, 3_000, /* synced= */ false);
      case BATCH -> write(number, 3, 90, /* synced= */ false);
      case BATCH_SYNCED -> write(number, 3, 90, /* synced= */ true);
      case DELETE -> write(number, 0, 0, /* synced= */ false);
      case DELETE_RANGE -> deleteRange(number);
      case SYNC -> maintain(StorageEngine::sync);
      case FLUSH -> maintain(StorageEngine::flush);
      case COMPACT -> maintain(StorageEngine::compact);
      case RECLAIM -> maintain(StorageEngine::reclaim);
      case BACKGROUND -> {
        stepped.background();
        yield true;
      }
    };
  }

  /** Closes; whether that succeeded, in which case everything is synced. */
  public boolean close() {
    boolean closed = maintain(StorageEngine::close);
    assertEquals(0, engine().memoryBytes(), "off-heap bytes after close");
    assertEquals(List.of(), storage.openFiles(), "open files after close");
    return closed;
  }

  /** Gives the engine's memory back; the storage is gone or of no interest any more. */
  void abandon() {
    stepped.abandon();
  }

  /** Every read gives what the last commit that succeeded left. */
  public void checkReads() {
    assertEquals(text(current()), text(contents(engine())), "a scan");
    for (int i = 0; i < KEYS; i++) {
      byte[] found = engine().reads().get(0, key(i), StoreReads.LATEST);
      assertEquals(text(current().get(key(i))), text(found), "a get");
    }
  }

  /**
   * Opens a copy of the store that a crash left, checks that it holds a state it may hold, that it
   * works, and that it still holds it after being closed and opened again. Returns that state.
   */
  public NavigableMap<byte[], byte[]> checkRecovered(CrashableStorage after) {
    TrackedEngine recovered = new TrackedEngine(after, variant, /* crashes= */ false);
    recovered.open();
    NavigableMap<byte[], byte[]> found = contents(recovered.engine());
    requireAllowed(found);
    recovered.settleOn(found);
    recovered.checkReads();
    recovered.stepNumber = 1_000;
    assertTrue(recovered.run(Step.PUT), "a write after recovery");
    assertTrue(recovered.close(), "a close after recovery");
    recovered.storage = after.crashSyncedOnly();
    recovered.open();
    recovered.checkReads();
    recovered.abandon();
    return found;
  }

  /** Whether a crash may leave this state, and if not, why it fails. */
  void requireAllowed(NavigableMap<byte[], byte[]> found) {
    String text = text(found);
    List<String> allowed = account.allowed().stream().map(TrackedEngine::text).toList();
    if (allowed.contains(text)) {
      return;
    }
    if (account.past().stream().map(TrackedEngine::text).anyMatch(text::equals)) {
      fail("lost synced commits: found " + text + ", allowed were " + allowed);
    }
    fail("found " + text + " which is none of " + allowed);
  }

  static NavigableMap<byte[], byte[]> contents(StorageEngine engine) {
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    NavigableMap<byte[], byte[]> found = new TreeMap<>(Arrays::compareUnsigned);
    try (SnapshotCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
      while (cursor.next()) {
        found.put(cursor.key(), cursor.value());
      }
    }
    return found;
  }

  static byte[] key(int index) {
    return ("key-" + index).getBytes(UTF_8);
  }

  /** Keys with the lengths and hashes of their values. */
  public static String text(@Nullable NavigableMap<byte[], byte[]> state) {
    if (state == null) {
      return "-";
    }
    StringBuilder text = new StringBuilder("{");
    for (Map.Entry<byte[], byte[]> entry : state.entrySet()) {
      text.append(new String(entry.getKey(), UTF_8)).append('=').append(text(entry.getValue()));
    }
    return text.append('}').toString();
  }

  private static String text(byte @Nullable [] value) {
    return value == null ? "null " : value.length + ":" + Arrays.hashCode(value) + " ";
  }

  /** A value that is worth compressing or not, depending on the number. */
  static byte[] value(int number, int length) {
    byte[] value = new byte[length];
    if (number % 2 == 0) {
      Arrays.fill(value, (byte) number);
    } else {
      new Random(number).nextBytes(value);
    }
    return value;
  }

  private boolean write(int number, int puts, int valueLength, boolean synced) {
    BatchWrites buffer = new BatchWrites();
    NavigableMap<byte[], byte[]> next = new TreeMap<>(current());
    for (int i = 0; i < puts; i++) {
      byte[] value = value(number + i, valueLength);
      buffer.put(0, key((number + i) % KEYS), value, 0);
      next.put(key((number + i) % KEYS), value);
    }
    if (puts != 1) {
      buffer.delete(0, key((number + puts) % KEYS));
      next.remove(key((number + puts) % KEYS));
    }
    return write(buffer, next, synced);
  }

  private boolean deleteRange(int number) {
    BatchWrites buffer = new BatchWrites();
    NavigableMap<byte[], byte[]> next = new TreeMap<>(current());
    int from = number % (KEYS - 2);
    byte[] value = value(number, 70);
    buffer.put(0, key(from + 1), value, 0);
    buffer.deleteRange(0, key(from), key(from + 3));
    next.subMap(key(from), key(from + 3)).clear();
    buffer.put(0, key(from + 2), value, 0);
    next.put(key(from + 2), value);
    return write(buffer, next, /* synced= */ false);
  }

  private boolean write(BatchWrites buffer, NavigableMap<byte[], byte[]> next, boolean synced) {
    boolean failedBefore = hasFailed();
    CommitSync when = synced ? CommitSync.EVERY_COMMIT : CommitSync.ON_DEMAND;
    try {
      engine().writes().write(buffer, when);
    } catch (StorageException | StoreFailedException e) {
      failed(e);
      account.fail(next, crashes || (e instanceof StoreFailedException && !failedBefore));
      return false;
    }
    assertTrue(!failedBefore, "a write succeeded after the store had failed");
    account.acknowledge(next);
    if (synced) {
      account.sync();
    }
    return true;
  }

  private boolean maintain(Consumer<StorageEngine> work) {
    boolean failedBefore = hasFailed();
    try {
      work.accept(engine());
    } catch (StorageException | StoreFailedException e) {
      failed(e);
      return false;
    }
    if (!failedBefore) {
      account.sync();
    }
    return !failedBefore;
  }

  private void failed(KvException error) {
    stopped |= crashes;
    failure.note(error);
  }
}
