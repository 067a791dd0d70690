package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.io.LostDirectoryException;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.MovedStorage;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * A fixed workload in which the directory is moved away before one operation that goes by a name,
 * for every such operation. The store fails as a whole, reads give what was acknowledged or fail,
 * closing changes no file, and what was acknowledged is there where the directory is.
 */
final class MovedDirectoryTest {
  private static final List<Step> WORKLOAD =
      List.of(
          Step.PUT,
          Step.PUT_SYNCED,
          Step.FLUSH,
          Step.PUT_LARGE,
          Step.PUT_LARGE,
          Step.SYNC,
          Step.PUT_LARGE,
          Step.BACKGROUND,
          Step.FLUSH,
          Step.COMPACT,
          Step.BATCH_SYNCED,
          Step.DELETE,
          Step.RECLAIM,
          Step.PUT);

  private static final Set<String> CHANGES =
      Set.of("create", "write", "sync", "truncate", "rename", "delete", "sync-directory");

  @ParameterizedTest
  @EnumSource(value = Variant.class, mode = Mode.EXCLUDE, names = "LOG_ONLY")
  void aStoreWhoseDirectoryIsMovedFailsAndLosesNothing(Variant variant) {
    Failures failures = new Failures();
    long looks = looks(variant);
    for (long n = 1; n <= looks; n++) {
      long movedAt = n;
      CrashableStorage storage = new CrashableStorage();
      failures.check(variant + ", moved at " + n, storage, () -> runOne(storage, variant, movedAt));
    }
    failures.report();
  }

  private static long looks(Variant variant) {
    CrashableStorage storage = new CrashableStorage();
    MovedStorage front = new MovedStorage(storage, Long.MAX_VALUE);
    TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
    tracked.openThrough(front);
    for (Step step : WORKLOAD) {
      assertTrue(tracked.run(step));
      tracked.checkReads();
    }
    assertTrue(tracked.close());
    return front.looks();
  }

  private static void runOne(CrashableStorage storage, Variant variant, long movedAt) {
    MovedStorage front = new MovedStorage(storage, movedAt);
    TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
    try {
      tracked.openThrough(front);
    } catch (KvException e) {
      assertEquals(List.of(), storage.openFiles(), "open files after a failed open");
      tracked.checkRecovered(storage.crashKeepingAll());
      return;
    }
    for (Step step : WORKLOAD) {
      boolean noticed = front.isNoticed();
      boolean succeeded = run(tracked, step);
      assertTrue(!noticed || !succeeded, step + " after the move");
      checkReads(tracked);
    }
    int before = changes(storage);
    boolean noticed = front.isNoticed();
    boolean closed = tracked.close();
    assertTrue(closed || front.isNoticed());
    if (noticed) {
      assertTrue(!closed, "a close after the move");
      assertEquals(before, changes(storage), "changes of files by close");
    }
    for (CrashableStorage after : storage.crashStates(3, 1)) {
      tracked.checkRecovered(after);
    }
    tracked.checkRecovered(storage.crashKeepingAll());
  }

  private static boolean run(TrackedEngine tracked, Step step) {
    if (step != Step.BACKGROUND) {
      return tracked.run(step);
    }
    try {
      tracked.run(step);
    } catch (StoreFailedException e) {
      // The timer is the first to notice, and tells the logger.
      assertInstanceOf(LostDirectoryException.class, e.getCause());
    }
    return false;
  }

  private static int changes(CrashableStorage storage) {
    return (int)
        storage.trace().stream().filter(line -> CHANGES.contains(line.split(" ", 2)[0])).count();
  }

  private static void checkReads(TrackedEngine tracked) {
    try {
      tracked.checkReads();
    } catch (StoreFailedException e) {
      assertInstanceOf(LostDirectoryException.class, e.getCause());
    }
  }
}
