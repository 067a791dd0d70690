package io.kvsep.internal.reclaim;

import io.kvsep.error.StorageException;
import io.kvsep.internal.background.FileQuarantine;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Files that reclaim tries to read and cannot, time after time. They are spared then, so that
 * others have their turn. Where a job of several files fails, each is tried by itself from then on,
 * so that those that can be read are not taken for stubborn. When none of these can be read either,
 * it is not for the files, and all are tried again. When others can, they are tried once more: what
 * was wrong with the device may have ended meanwhile. Used by one job at a time.
 */
final class ReclaimRetries {
  private static final int TRIES = 3;

  private final FileQuarantine spared;
  private final Map<Long, Integer> failures = new HashMap<>();

  /** Spared since a job succeeded last. */
  private final Set<Long> suspects = new HashSet<>();

  /** Tried once more since others could be read. */
  private final Set<Long> triedAgain = new HashSet<>();

  /** Whether a job of several files failed since no job was left. */
  private boolean oneByOne;

  private @Nullable Throwable lastFailure;

  ReclaimRetries(FileQuarantine spared) {
    this.spared = spared;
  }

  /** Files that the next job may have. */
  int filesMax() {
    return oneByOne ? 1 : ReclaimPicker.FILES_MAX;
  }

  /** After a job that could not read; whether the next one will be another. */
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
   * When no other job is left: throws when there are some again, which could not be read either.
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
