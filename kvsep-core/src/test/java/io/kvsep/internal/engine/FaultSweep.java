package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.function.UnaryOperator;

/**
 * Lets the storage calls of one action of a store fail, one after the other, in every way each can
 * fail, once or from there on. Whatever the action does about it, only the errors of the contract
 * come out, reads give what was acknowledged, a crash leaves what was promised, the store goes on
 * once the device works again unless it says that it has failed, and closing gives everything back.
 * Not thread safe.
 */
public final class FaultSweep {
  /** What a store still does once the device works again. */
  private static final List<Step> AFTERWARDS =
      List.of(Step.BACKGROUND, Step.PUT, Step.PUT_IN, Step.PUT_LARGE, Step.FLUSH, Step.PUT);

  /** What is done with a store while its storage fails. */
  public interface Action {
    /** Whether it succeeded. */
    boolean run(TrackedStore store);
  }

  /** A call of an action that fails; {@code at} counts from 0. */
  public record FaultPoint(int at, String call, Operation operation, Fault fault, boolean lasts) {
    @Override
    public String toString() {
      return call + " (" + at + ") " + fault + (lasts ? " from there on" : " once");
    }
  }

  /** So long are the marks behind the edits of a manifest, and any edit is longer. */
  private static final int MARK_BYTES = 8;

  private final Failures failures = new Failures();
  private final OptionSet options;
  private final UnaryOperator<Storage> disguise;

  /** Faults without an error from the action, by what failed. */
  private final Set<String> absorbed = new TreeSet<>();

  private int faultPoints;

  public FaultSweep(OptionSet options, UnaryOperator<Storage> disguise) {
    this.options = options;
    this.disguise = disguise;
  }

  public Failures failures() {
    return failures;
  }

  /** Runs with a fault that was met: calls, times ways to fail, times once or for ever. */
  public int faultPoints() {
    return faultPoints;
  }

  public Set<String> absorbed() {
    return absorbed;
  }

  /** Opens again what is there; its last part is in the log alone. */
  static final Action OPENING = FaultSweep::openAgain;

  static final Action CLOSING = TrackedStore::close;

  private static boolean openAgain(TrackedStore store) {
    try {
      return store.run(Step.KILL);
    } catch (StorageException | CorruptionException | StoreFailedException e) {
      return false;
    }
  }

  /** All faults of an action on a store on which {@code before} was done. */
  public void run(List<Step> before, String name, Action action) {
    points(before, action).forEach(point -> run(before, name, action, point));
  }

  /** All ways in which the n-th call of an action can fail, for each of its calls. */
  public List<FaultPoint> points(List<Step> before, Action action) {
    List<FaultPoint> points = new ArrayList<>();
    List<String> calls = calls(before, action);
    for (int n = 0; n < calls.size(); n++) {
      Operation operation = operation(calls.get(n));
      for (Fault fault : Fault.values()) {
        if (can(operation, fault)) {
          points.add(new FaultPoint(n, calls.get(n), operation, fault, /* lasts= */ false));
          points.add(new FaultPoint(n, calls.get(n), operation, fault, /* lasts= */ true));
        }
      }
    }
    return points;
  }

  public void run(List<Step> before, String name, Action action, FaultPoint point) {
    CrashableStorage storage = new CrashableStorage();
    failures.check(
        options + ", " + name + ", " + point,
        storage,
        () ->
            runOne(
                storage,
                before,
                name,
                action,
                point.at(),
                point.operation(),
                point.fault(),
                point.lasts()));
  }

  /** The calls of the action when nothing fails. */
  private List<String> calls(List<Step> before, Action action) {
    TrackedStore store = filled(new CrashableStorage(), before);
    store.storage().clearTrace();
    CrashableStorage storage = store.storage();
    assertTrue(action.run(store));
    // The store's own storage is another one after a kill.
    List<String> calls = store.storage() == storage ? storage.trace() : store.storage().trace();
    store.abandon();
    return calls;
  }

  /** Whether an operation fails in this way otherwise than with an {@link Fault#EIO}. */
  static boolean can(Operation operation, Fault fault) {
    return switch (fault) {
      case EIO -> true;
      case ENOSPC -> operation.changes();
      case SHORT_WRITE, LATE_EIO -> operation == Operation.WRITE;
      case SYNC_FAILS -> operation == Operation.SYNC || operation == Operation.SYNC_DIRECTORY;
      case EARLY_EOF -> operation == Operation.READ;
    };
  }

  private void runOne(
      CrashableStorage storage,
      List<Step> before,
      String name,
      Action action,
      int at,
      Operation operation,
      Fault fault,
      boolean lasts) {
    TrackedStore store = filled(storage, before);
    store.expect(fault, lasts);
    int[] counted = new int[1];
    BiPredicate<Operation, String> where =
        (now, file) -> {
          int index = counted[0]++;
          return lasts ? index >= at && now.changes() == operation.changes() : index == at;
        };
    store.onEachStorage(each -> each.failAt(1, fault, lasts, where));
    boolean succeeded = action.run(store);
    assertTrue(counted[0] > at, "the fault was not met");
    faultPoints++;
    if (succeeded) {
      absorbed.add(name + ": " + fileOperation(store.storage()));
    }
    if (!store.isOpen()) {
      assertEquals(List.of(), store.storage().openFiles(), "open files after a failed open");
      store.onEachStorage(CrashableStorage::clearFaults);
      CrashSweep.check(options, store.storage().crashKeepingAll(), store.promise());
      return;
    }
    if (lasts && !store.isClosed()) {
      // Whatever they do, they do it by the contract.
      store.run(Step.PUT);
      store.run(Step.GET);
      if (operation.changes()) {
        store.checkReads();
      }
    }
    store.onEachStorage(CrashableStorage::clearFaults);
    if (!store.isClosed()) {
      crashBehindOnePut(store, at);
      goOn(store);
    }
    for (CrashableStorage after : store.storage().moment().crashStates(2, at)) {
      CrashSweep.check(options, after, store.promise());
    }
    CrashSweep.check(options, store.storage().moment(), store.promiseWhenKilled());
    if (!store.isClosed()) {
      boolean closed = store.close();
      assertTrue(closed || store.hasFailed(), "close after the device works again");
      CrashSweep.check(options, store.storage().crashSyncedOnly(), store.promise());
    }
  }

  /**
   * Before anything else is written to the manifest, which would cover up what the fault left
   * there.
   */
  private void crashBehindOnePut(TrackedStore store, int seed) {
    store.run(Step.PUT_SYNCED);
    CrashableStorage moment = store.storage().moment();
    CrashSweep.check(options, moment.moment().crashSyncedOnly(), store.promise());
    CrashSweep.check(options, moment.moment().crashKeepingAll(), store.promise());
    for (CrashableStorage after : moment.crashStates(1, seed)) {
      CrashSweep.check(options, after, store.promise());
    }
  }

  private static void goOn(TrackedStore store) {
    store.checkReads();
    store.run(Step.BACKGROUND);
    for (Step step : AFTERWARDS) {
      boolean succeeded = store.run(step);
      boolean failed = store.hasFailed();
      assertTrue(succeeded || failed, () -> step + " after the device works again");
      assertFalse(succeeded && failed && step == Step.PUT, "a store that failed writes");
    }
    store.checkReads();
  }

  private TrackedStore filled(CrashableStorage storage, List<Step> before) {
    TrackedStore store = new TrackedStore(storage, options, new ManualClock(1_000), disguise);
    store.open();
    before.forEach(step -> assertTrue(store.run(step), step::toString));
    return store;
  }

  /** The failed operation, with the kind of its file. */
  private static String fileOperation(CrashableStorage storage) {
    return storage.trace().stream()
        .filter(line -> line.contains(" !"))
        .findFirst()
        .map(FaultSweep::fileOperation)
        .orElse("nothing");
  }

  /** The operation of a line of a trace, with the kind of its file. */
  public static String fileOperation(String line) {
    String[] words = line.split(" ", -1);
    String path = words.length > 1 ? words[1] : "";
    String file = path.startsWith("!") ? "" : path.substring(path.indexOf('/') + 1);
    String kind = file.isEmpty() ? "" : StoreFiles.kindOf(file).name();
    boolean writes = words[0].equals("write");
    boolean mark = writes && kind.equals("MANIFEST") && words[2].endsWith("+" + MARK_BYTES);
    return (words[0] + " " + (mark ? "MARK" : kind)).strip();
  }

  /** What a line of a trace is about. */
  static Operation operation(String line) {
    String word = line.split(" ", 2)[0];
    return Operation.valueOf(word.toUpperCase(Locale.ROOT).replace('-', '_'));
  }
}
