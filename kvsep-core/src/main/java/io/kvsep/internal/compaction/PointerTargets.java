package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.function.Predicate;

/** Files that compactions may point into, {@code reclaim.RefreshTargets}. Thread safe. */
public interface PointerTargets {
  /** Files that stay unchanged until this is closed. */
  interface Pins extends AutoCloseable {
    PointerRefresh pointers();

    /** Called once the compaction's result is installed or abandoned. */
    @Override
    void close();
  }

  /** Pins the files that hold values of the plan's tables. */
  Pins pin(CompactionPlan plan);

  /** Tables many of whose values moved into files that {@link #pin} accepts. */
  Predicate<TableFile> withMovedValues(Version version);
}
