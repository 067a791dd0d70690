package io.kvsep.testing;

import io.kvsep.internal.concurrent.Scheduler;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Has no threads for some lanes, as long as a test wants it so, and may fail to end; leaves the
 * rest to the scheduler behind it. Thread safe if that is.
 */
public final class RefusingScheduler extends ForwardingScheduler {
  /** Stands for the OutOfMemoryError of a thread that cannot be made, which would end the tests. */
  public static final class NoThread extends Error {
    private static final long serialVersionUID = 1L;

    NoThread(Lane lane) {
      super("unable to create a thread for " + lane);
    }
  }

  private volatile Set<Lane> refused = Set.of();
  private volatile @Nullable Error closeError;

  public RefusingScheduler(Scheduler scheduler) {
    super(scheduler);
  }

  /** From now on there are no threads for these lanes, and for all others there are. */
  public void refuse(Lane... lanes) {
    EnumSet<Lane> set = EnumSet.noneOf(Lane.class);
    set.addAll(List.of(lanes));
    refused = set;
  }

  /** Makes {@link #close} throw before it does anything; null for not. */
  public void failClose(@Nullable Error error) {
    closeError = error;
  }

  @Override
  public void execute(Lane lane, Runnable task) {
    if (refused.contains(lane)) {
      throw new NoThread(lane);
    }
    super.execute(lane, task);
  }

  @Override
  public void close() {
    Error error = closeError;
    if (error != null) {
      throw error;
    }
    super.close();
  }
}
