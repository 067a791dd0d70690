package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The files that compactions may write pointers into. Thread safe. */
public interface PointerTargets {
  /** Files that stay as they are until this is closed. */
  interface Pins extends AutoCloseable {
    PointerRefresh pointers();

    /** After the compaction's result was installed, or given up. */
    @Override
    void close();
  }

  /** Pins the files that have values of the plan's tables. */
  Pins pin(CompactionPlan plan);

  /**
   * The next table to be rewritten because its values have moved into files that {@link #pin}
   * takes, null when there is none.
   */
  @Nullable CompactionPlan pickDetour(Version version, Predicate<TableFile> mayRewrite);
}
