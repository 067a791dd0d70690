package io.kvsep.internal.background;

import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.jfr.CompactionEvent;
import io.kvsep.internal.jfr.FlushEvent;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.VersionEdit;
import org.jspecify.annotations.Nullable;

/** Completes Flight Recorder events of jobs; a null event is ignored. */
final class JobEvents {
  private JobEvents() {}

  static void record(@Nullable FlushEvent event, String store, long tableBytes) {
    if (event == null) {
      return;
    }
    event.end();
    if (event.shouldCommit()) {
      event.store = store;
      event.tableBytes = tableBytes;
      event.commit();
    }
  }

  static void record(
      @Nullable CompactionEvent event, String store, CompactionPlan plan, VersionEdit edit) {
    if (event == null) {
      return;
    }
    event.end();
    if (event.shouldCommit()) {
      event.store = store;
      event.inputLevel = plan.inputLevel();
      event.outputLevel = plan.outputLevel();
      for (TableFile table : plan.tables()) {
        event.inputTables++;
        event.inputBytes += table.meta().fileBytes();
      }
      for (VersionEdit.AddedTable added : edit.addedTables()) {
        event.outputTables++;
        event.outputBytes += added.meta().fileBytes();
      }
      event.moved = plan.move();
      event.commit();
    }
  }
}
