package io.kvsep.testing;

import java.util.Locale;

/** What a storage counts, traces and can be told to fail. Closing is not among it. */
public enum Operation {
  CREATE,
  OPEN,
  WRITE,
  READ,
  MAP,
  SYNC,
  TRUNCATE,
  RENAME,
  DELETE,
  LIST,
  SYNC_DIRECTORY,
  LOCK;

  String word() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
