package io.kvsep.internal.version;

import java.util.List;

/** Receives files that no longer belong to the store. */
public interface ObsoleteFiles {
  /**
   * No version holds these files any more. Called once per file, without a lock, by the thread that
   * released the last version.
   *
   * @param tables their readers are to be closed and their files deleted
   * @param segments ids, ascending
   */
  void obsolete(List<TableFile> tables, List<Long> segments);
}
