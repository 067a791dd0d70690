package io.kvsep.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ModelState.Change;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * What random histories against a model have in common, whatever calls they are made of. The engine
 * has tiny limits and a storage that can crash; the model keeps every state since the last sync.
 *
 * <p>What is checked: after a clean reopen or the death of the process, everything; after a power
 * failure, that the store holds exactly the state after some commit not older than the last one
 * known to be synced; after each close, that no memory and no file is left behind. Not thread safe.
 *
 * @param <C> what cursors the history holds
 */
public abstract class ModelHistory<C extends ModelCursor> {
  protected final Random random;
  protected final ManualClock clock = new ManualClock(1_000_000);
  protected final ModelDraw draw;

  /** Those that stay open across operations. */
  protected final List<C> cursors = new ArrayList<>();

  private final Deque<String> operations = new ArrayDeque<>();

  /** States since the last known sync, the synced one first, the current one last. */
  private final List<ModelState> sinceSync = new ArrayList<>(List.of(ModelState.empty()));

  private CrashableStorage storage;
  private ManualScheduler scheduler;
  private CommitSync sync;
  private StorageEngine engine;

  /** Opens the engine for the first time. */
  protected ModelHistory(CrashableStorage storage, long seed, int keyBitsMax) {
    this.storage = storage;
    random = new Random(seed);
    draw = new ModelDraw(random, keyBitsMax);
    openEngine();
  }

  /** One operation drawn at random. */
  protected abstract void step();

  /** One that writes, between the moves of a cursor. */
  protected abstract void put();

  /** A cursor of bounds and options drawn at random. */
  protected abstract C openCursor();

  /** Tells that there is a new engine. */
  protected abstract void opened();

  /**
   * Closes the store as a user does, and calls {@link #checkClosed} while others are still open.
   */
  protected abstract void close();

  /** Closes nothing but the store. */
  protected abstract void closeStore();

  protected abstract void forgetSnapshots();

  /** Compares all that can be seen with what there must be. */
  protected abstract void checkAll();

  /** All that can be seen of the store. */
  protected abstract String describeStore();

  /** As {@link #describeStore}, of what the store must hold. */
  protected abstract String describe(ModelState state);

  /** Runs {@code steps} operations and a last full check; the failure carries the last of them. */
  public final void run(int steps) {
    try {
      for (int i = 0; i < steps; i++) {
        step();
      }
      checkAll();
      close();
    } catch (Throwable e) {
      throw new AssertionError("last operations: " + String.join("; ", operations), e);
    }
  }

  protected final void note(String operation) {
    operations.add(operation);
    if (operations.size() > 30) {
      operations.remove();
    }
  }

  protected final StorageEngine engine() {
    return engine;
  }

  /** When this opening syncs commits. */
  protected final CommitSync sync() {
    return sync;
  }

  protected final ModelState current() {
    return sinceSync.get(sinceSync.size() - 1);
  }

  protected final void committed(List<Change> changes, CommitSync when) {
    sinceSync.add(current().with(changes));
    if (when == CommitSync.EVERY_COMMIT) {
      synced();
    }
  }

  protected final void synced() {
    settleOn(current());
  }

  /** From now on no crash may bring back anything but this. */
  protected final void settleOn(ModelState state) {
    sinceSync.clear();
    sinceSync.add(state);
  }

  protected final void background() {
    note("background");
    scheduler.help();
  }

  protected final void tick() {
    note("tick");
    scheduler.tick();
  }

  protected final void advance() {
    note("advance");
    // What a cursor shows changes with the time, and its list does not.
    closeCursors();
    clock.advance(random.nextInt(50));
  }

  /** Does what makes all of the log durable. */
  protected final void syncWith(String what, Runnable work) {
    note(what);
    work.run();
    synced();
  }

  protected final void reopen() {
    note("reopen");
    close();
    // The same files, not closed: what is pending stays pending.
    storage = storage.crashKeepingAll();
    synced();
    open();
    checkAll();
  }

  protected final void killProcess() {
    note("kill");
    CrashableStorage after = storage.crashKeepingAll();
    abandon();
    storage = after;
    open();
    checkAll();
  }

  protected final void powerFailure() {
    note("power failure");
    CrashableStorage after = storage.crash(random);
    abandon();
    storage = after;
    open();
    String found = describeStore();
    ModelState match = null;
    for (int i = sinceSync.size() - 1; i >= 0 && match == null; i--) {
      if (describe(sinceSync.get(i)).equals(found)) {
        match = sinceSync.get(i);
      }
    }
    settleOn(requireMatch(match));
  }

  private static ModelState requireMatch(@Nullable ModelState match) {
    assertTrue(match != null, "the recovered state is none of the states since the last sync");
    return match;
  }

  /** A cursor that moves about while another thread writes. */
  protected final void scan() {
    try (C cursor = openCursor()) {
      int moves = random.nextBoolean() ? cursor.length() : random.nextInt(30);
      boolean forward = random.nextBoolean();
      for (int i = 0; i < moves; i++) {
        if (random.nextInt(40) == 0) {
          put();
          scheduler.help();
        }
        if (forward) {
          cursor.forward();
        } else {
          cursor.anywhere(random, draw::key);
        }
      }
    }
  }

  /** Opens a cursor to stay, moves one that is open, or closes one. */
  protected final void holdCursor() {
    int kind = random.nextInt(4);
    if (cursors.size() < 4 && kind == 0) {
      cursors.add(openCursor());
    } else if (!cursors.isEmpty() && kind < 3) {
      note("move held cursor");
      C held = draw.from(cursors);
      for (int i = random.nextInt(10); i >= 0; i--) {
        held.anywhere(random, draw::key);
      }
    } else if (!cursors.isEmpty()) {
      note("close held cursor");
      cursors.remove(random.nextInt(cursors.size())).close();
    }
  }

  protected final void closeCursors() {
    cursors.forEach(ModelCursor::close);
    cursors.clear();
  }

  /** After the store was closed. */
  protected final void checkClosed() {
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  /** Closes a store whose storage is gone; only its memory is of interest. */
  private void abandon() {
    forgetSnapshots();
    // Those still open are closed with the engine.
    cursors.clear();
    try {
      closeStore();
    } catch (RuntimeException e) {
      // The storage refuses everything after its crash.
    }
    assertEquals(0, engine.memoryBytes());
  }

  private void open() {
    openEngine();
    opened();
  }

  private void openEngine() {
    scheduler = new ManualScheduler(random.nextLong(), 1 + random.nextInt(3));
    sync = random.nextInt(3) == 0 ? CommitSync.EVERY_COMMIT : CommitSync.ON_DEMAND;
    engine = StorageEngine.open(Engines.randomConfig(storage, sync, clock, random, scheduler));
  }
}
