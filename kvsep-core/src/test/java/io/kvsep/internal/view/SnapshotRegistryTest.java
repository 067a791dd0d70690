package io.kvsep.internal.view;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.Parked;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** A job asks what it must keep while a snapshot is being taken. */
final class SnapshotRegistryTest {
  /** Runs once, after a snapshot has its number and before it is registered. */
  private Runnable whileAcquiring = () -> {};

  private final SnapshotRegistry snapshots =
      new SnapshotRegistry(
          1,
          () -> {
            Runnable once = whileAcquiring;
            whileAcquiring = () -> {};
            once.run();
            return 0;
          });

  @Test
  void noJobMissesASnapshotThatIsBeingTaken() throws Exception {
    FutureTask<long[]> asked = new FutureTask<>(snapshots::boundaries);
    Thread job = new Thread(asked);
    whileAcquiring =
        () -> {
          snapshots.publish(2);
          job.start();
          // It waits for the registration, or has its answer.
          Parked.awaitBlocked(job);
        };
    SnapshotLease hold = snapshots.acquire();
    assertEquals(1, hold.sequence());
    assertArrayEquals(new long[] {1, 2}, asked.get());
    snapshots.release(hold);
    assertArrayEquals(new long[] {2}, snapshots.boundaries());
  }
}
