package io.kvsep.internal.reclaim;

import io.kvsep.error.StorageException;
import io.kvsep.internal.background.FileQuarantine;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Quarantines files that reclaim repeatedly fails to read, so that it can proceed with the others.
 * After a job with several files fails, files are tried one by one. If no file can be read, the
 * device is at fault and all are tried again. If others can, quarantined files get one more
 * attempt, because a device fault may have ended. Used by one job at a time.
 */
final class ReclaimRetries {
  private static final int TRIES = 3;

  private final FileQuarantine spared;
  private final Map<Long, Integer> failures = new HashMap<>();

  /** Quarantined since the last successful job. */
  private final Set<Long> suspects = new HashSet<>();

  /** Files that got their additional attempt. */
  private final Set<Long> triedAgain = new HashSet<>();

  /** Whether a job of several files has failed since no job was left. */
  private boolean oneByOne;

  private @Nullable Throwable lastFailure;

  ReclaimRetries(FileQuarantine spared) {
    this.spared = spared;
  }

  int filesMax() {
    return oneByOne ? 1 : ReclaimPicker.FILES_MAX;
  }

  /** Records a job that could not read; returns whether the next job will be a different one. */
  boolean failed(Set<Long> victims, Throwable cause) {
    lastFailure = cause;
    if (victims.size() > 1) {
      oneByOne = true;
      return true;
    }
    long victim = victims.iterator().next();
    if (failures.merge(victim, 1, Integer::sum) < TRIES) {
      return false;
    }
    failures.remove(victim);
    if (!triedAgain.contains(victim)) {
      suspects.add(victim);
    }
    spared.spareUnreadable(victim);
    return true;
  }

  void succeeded() {
    failures.clear();
    suspects.forEach(victim -> failures.put(victim, TRIES - 1));
    triedAgain.addAll(suspects);
    spared.release(suspects);
    suspects.clear();
  }

  /**
   * Called when no job is left. Throws if files are quarantined while none could be read, and
   * releases them.
   */
  void requireOthers() {
    Throwable cause = lastFailure;
    if (cause != null && !suspects.isEmpty()) {
      failures.clear();
      spared.release(suspects);
      suspects.clear();
      throw new StorageException("cannot read files of the value log", cause);
    }
    oneByOne = false;
  }
}
