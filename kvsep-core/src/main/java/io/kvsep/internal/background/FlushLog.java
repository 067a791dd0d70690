package io.kvsep.internal.background;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.version.VersionEdit;

/** The end of the log, {@code write.LogTail}, as a flush sees it. Thread safe. */
public interface FlushLog {
  /** Makes everything published durable. */
  void sync();

  /** End of what is durable. */
  LogPosition durable();

  /** Applies an edit, adding the ends of sealed segments that no edit has recorded. */
  void applySealing(VersionEdit edit);
}
