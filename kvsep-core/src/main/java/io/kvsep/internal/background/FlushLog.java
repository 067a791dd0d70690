package io.kvsep.internal.background;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.version.VersionEdit;

/** The log as a flush needs it. Thread safe. */
public interface FlushLog {
  /** Makes all that was appended durable. */
  void sync();

  /** The end of what is durable. */
  LogPosition durable();

  /** Applies an edit, together with the ends of segments that no edit has yet. */
  void applySealing(VersionEdit edit);
}
