package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.EngineConfig.CommitSync;
import io.kvsep.internal.engine.EngineConfig.Reclaim;
import io.kvsep.internal.reclaim.ReclaimGoal;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
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
 * left, which of them is known to be synced, and the one write of which a failure left open whether
 * it happened. Checks what a recovered engine holds against that account. Not thread safe.
 */
final class TrackedEngine {
  /** What can be done; the n-th step of a run always uses the same keys and values. */
  enum Step {
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

  /** Options that lead different ways through the engine. */
  enum Variant {
    /** Short segments; only short values beside their keys. */
    SEPARATED(64, 128, 4 << 10),
    /** Every value beside its key. */
    INLINE(65_536, Integer.MAX_VALUE, 6 << 10),
    /** Every value in the log alone, one segment. */
    LOG_ONLY(0, Integer.MAX_VALUE, 1 << 20);

    private final int inlineValueBytesMax;
    private final int compressionBytesMin;
    private final long segmentBytes;

    Variant(int inlineValueBytesMax, int compressionBytesMin, long segmentBytes) {
      this.inlineValueBytesMax = inlineValueBytesMax;
      this.compressionBytesMin = compressionBytesMin;
      this.segmentBytes = segmentBytes;
    }

    EngineConfig config(CrashableStorage storage, ManualScheduler scheduler) {
      EngineConfig base =
          Engines.config(
              storage, CommitSync.ON_DEMAND, new ManualClock(1_000), new Random(7), scheduler);
      return new EngineConfig(
              storage,
              base.mode(),
              base.sync(),
              base.syncIntervalNanos(),
              inlineValueBytesMax,
              compressionBytesMin,
              segmentBytes,
              base.shape(),
              base.clock(),
              base.ticker(),
              base.random(),
              scheduler)
          .with(new Reclaim(new ReclaimGoal(1.2, 256, 8 << 10), Long.MAX_VALUE));
    }
  }

  private static final int KEYS = 6;

  private final Variant variant;
  private final List<NavigableMap<byte[], byte[]>> states = new ArrayList<>();
  private final boolean crashes;
  private CrashableStorage storage;
  private @Nullable ManualScheduler scheduler;
  private @Nullable StorageEngine engine;
  private @Nullable NavigableMap<byte[], byte[]> doubtful;

  /**
   * Whether a write may fail with all its bytes in the file. Where the log cannot be cut either,
   * the first write that was refused since the last one that succeeded may be found after a crash.
   */
  private boolean failsLate;

  private @Nullable NavigableMap<byte[], byte[]> refused;
  private @Nullable Throwable firstCause;
  private boolean stopped;
  private int syncedState;
  private int stepNumber;

  /**
   * @param crashes whether the storage is going to stop in the middle of something: then the write
   *     under way may have happened, whatever its error
   */
  TrackedEngine(CrashableStorage storage, Variant variant, boolean crashes) {
    this.storage = storage;
    this.variant = variant;
    this.crashes = crashes;
    states.add(new TreeMap<>(Arrays::compareUnsigned));
  }

  void open() {
    ManualScheduler made = new ManualScheduler(11, 2);
    engine = StorageEngine.open(variant.config(storage, made));
    scheduler = made;
  }

  StorageEngine engine() {
    StorageEngine open = engine;
    assertNotNull(open);
    return open;
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
    return firstCause != null;
  }

  /** The state that readers have to see. */
  NavigableMap<byte[], byte[]> current() {
    return states.get(states.size() - 1);
  }

  /** Forgets that anything but {@code state} is possible. */
  void settleOn(NavigableMap<byte[], byte[]> state) {
    states.clear();
    states.add(state);
    syncedState = 0;
    doubtful = null;
    refused = null;
    firstCause = null;
    stopped = false;
  }

  /** From now on writes may fail with all their bytes in the file. */
  void failsLate() {
    failsLate = true;
  }

  /** Runs one step; whether it succeeded. Only the errors of the contract may come out. */
  boolean run(Step step) {
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
        ManualScheduler background = scheduler;
        assertNotNull(background);
        background.tick();
        background.runAll();
        yield true;
      }
    };
  }

  /** Closes; whether that succeeded, in which case everything is synced. */
  boolean close() {
    boolean closed = maintain(StorageEngine::close);
    assertEquals(0, engine().memoryBytes(), "off-heap bytes after close");
    assertEquals(List.of(), storage.openFiles(), "open files after close");
    return closed;
  }

  /** Gives the engine's memory back; the storage is gone or of no interest any more. */
  void abandon() {
    try {
      engine().close();
    } catch (RuntimeException e) {
      // The storage refuses everything after its crash.
    }
    assertEquals(0, engine().memoryBytes(), "off-heap bytes after a crash");
  }

  /** Every read gives what the last commit that succeeded left. */
  void checkReads() {
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
  NavigableMap<byte[], byte[]> checkRecovered(CrashableStorage after) {
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
    for (int i = syncedState; i < states.size(); i++) {
      if (text.equals(text(states.get(i)))) {
        return;
      }
    }
    if (doubtful != null && text.equals(text(doubtful))) {
      return;
    }
    if (refused != null && text.equals(text(refused))) {
      return;
    }
    StringBuilder allowed = new StringBuilder();
    states.subList(syncedState, states.size()).forEach(state -> allowed.append(text(state)));
    for (int i = 0; i < syncedState; i++) {
      if (text.equals(text(states.get(i)))) {
        fail("lost synced commits: found state " + i + ", synced was " + syncedState);
      }
    }
    fail("found " + text + " which is none of " + allowed + " nor " + text(doubtful));
  }

  static NavigableMap<byte[], byte[]> contents(StorageEngine engine) {
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    NavigableMap<byte[], byte[]> found = new TreeMap<>(Arrays::compareUnsigned);
    try (EngineCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
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
  static String text(@Nullable NavigableMap<byte[], byte[]> state) {
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
    WriteBuffer buffer = new WriteBuffer();
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
    WriteBuffer buffer = new WriteBuffer();
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

  private boolean write(WriteBuffer buffer, NavigableMap<byte[], byte[]> next, boolean synced) {
    boolean failedBefore = hasFailed();
    CommitSync when = synced ? CommitSync.EVERY_COMMIT : CommitSync.ON_DEMAND;
    try {
      engine().writes().write(buffer, when);
    } catch (StorageException | StoreFailedException e) {
      failed(e);
      if (crashes || (e instanceof StoreFailedException && !failedBefore)) {
        doubtful = next;
      }
      if (failsLate && refused == null) {
        refused = next;
      }
      return false;
    }
    assertTrue(!failedBefore, "a write succeeded after the store had failed");
    states.add(next);
    refused = null;
    if (synced) {
      syncedState = states.size() - 1;
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
      syncedState = states.size() - 1;
    }
    return !failedBefore;
  }

  private void failed(RuntimeException error) {
    stopped |= crashes;
    if (error instanceof StoreFailedException) {
      if (firstCause == null) {
        firstCause = error.getCause();
        assertNotNull(firstCause, "the cause of a failed store");
      } else if (!crashes) {
        assertSame(firstCause, error.getCause(), "the first cause");
      }
    } else if (!crashes) {
      assertTrue(!hasFailed(), "a failed store has to say so, but gave: " + error);
    }
  }
}
