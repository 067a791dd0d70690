package io.kvsep.testing;

/** How an operation fails. One that cannot fail in the way asked for fails with {@link #EIO}. */
public enum Fault {
  /** Nothing is done. What a failed sync should have made durable may still become so. */
  EIO,

  /** Nothing is done, for want of space. */
  ENOSPC,

  /** The first half of the bytes is written. */
  SHORT_WRITE,

  /** All bytes are written, and the error comes all the same. */
  LATE_EIO,

  /**
   * A failed sync as Linux does it: the error is told once, everything unsynced is forgotten as if
   * it were written, reads go on showing it, later syncs succeed, and power loss takes it away.
   */
  SYNC_FAILS,

  /** A read finds the end of the file after half of the bytes that are there. */
  EARLY_EOF
}
