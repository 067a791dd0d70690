package io.kvsep.internal.version;

import java.util.List;

/** Who is told about files that no longer belong to the store. */
public interface ObsoleteFiles {
  /**
   * No live version holds these files, and none ever will again. Each file is named once. Called
   * without a lock held, by whichever thread let the last version go.
   *
   * @param tables whose readers are to be closed and whose files are to be deleted
   * @param segments ids of segments of the value log, ascending
   */
  void obsolete(List<TableFile> tables, List<Long> segments);
}
