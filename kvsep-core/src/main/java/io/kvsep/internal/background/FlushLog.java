package io.kvsep.internal.background;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.version.VersionEdit;

/** The part of the log that a flush needs. Thread safe. */
public interface FlushLog {
  /** Makes everything appended durable. */
  void sync();

  /** End of what is durable. */
  LogPosition durable();

  /** Applies an edit, adding the ends of sealed segments that no edit has recorded. */
  void applySealing(VersionEdit edit);
}
