package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.LevelIterator;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.VersionEdit;
import java.io.IOException;
import java.util.List;

/** Executes a plan: merges its tables and describes the result as an edit. */
public final class CompactionJob {
  private CompactionJob() {}

  /**
   * Returns the edit that replaces the plan's tables by the merged, durable ones. A failure leaves
   * no file and the inputs unchanged.
   */
  public static VersionEdit run(JobContext context, CompactionPlan plan) throws IOException {
    VersionEdit edit = new VersionEdit();
    for (TableFile input : plan.inputs()) {
      edit.removeTable(plan.inputLevel(), input.meta().number());
    }
    if (plan.move()) {
      for (TableFile input : plan.inputs()) {
        edit.addTable(plan.outputLevel(), input.meta());
      }
      return edit;
    }
    for (TableFile overlap : plan.overlaps()) {
      edit.removeTable(plan.outputLevel(), overlap.meta().number());
    }
    merge(context, plan, edit);
    return edit;
  }

  private static void merge(JobContext context, CompactionPlan plan, VersionEdit edit)
      throws IOException {
    try (MergingIterator merged = open(context, plan);
        VersionFilter filter =
            new VersionFilter(
                context.boundaries(),
                plan.bottom(),
                context.nowMillis(),
                rangeTombstones(plan),
                context.ledger());
        CompactionOutput output =
            new CompactionOutput(
                context.storage(),
                context.ledger(),
                context.config().tableOptions(plan.outputLevel()),
                context.fileNumbers(),
                context.config().tableBytes())) {
      output.writeAll(merged, filter, context.pointers(), context.cancelled());
      // No later block access has checked the last blocks.
      Region.requirePagesRead();
      for (TableMeta table : output.finish()) {
        edit.addTable(plan.outputLevel(), table);
      }
      edit.droppedDelete(filter.droppedDelete());
    }
  }

  private static RangeTombstones rangeTombstones(CompactionPlan plan) {
    RangeTombstones.Builder all = new RangeTombstones.Builder();
    for (TableFile table : plan.tables()) {
      if (table.meta().rangeCount() > 0) {
        all.add(table.rangeTombstones());
      }
    }
    return all.build();
  }

  private static MergingIterator open(JobContext context, CompactionPlan plan) {
    try (IteratorSources sources = new IteratorSources()) {
      if (plan.inputLevel() == 0) {
        for (TableFile input : plan.inputs()) {
          sources.add(input.iterator(context.ledger()));
        }
      } else {
        sources.add(levelIterator(context, plan.inputs()));
      }
      if (!plan.overlaps().isEmpty()) {
        sources.add(levelIterator(context, plan.overlaps()));
      }
      return sources.merge(context.ledger());
    }
  }

  private static LevelIterator levelIterator(JobContext context, List<TableFile> tables) {
    return new LevelIterator(tables.toArray(new TableFile[0]), context.ledger());
  }
}
