package io.kvsep.testing;

import java.util.Locale;

/** What a storage counts, traces and can be told to fail. Closing is not among it. */
public enum Operation {
  CREATE,
  LINK,
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

  /** Whether files, names or what is durable of them differ afterwards. */
  public boolean changes() {
    return switch (this) {
      case CREATE, LINK, WRITE, SYNC, TRUNCATE, RENAME, DELETE, SYNC_DIRECTORY -> true;
      case OPEN, READ, MAP, LIST, LOCK -> false;
    };
  }

  String word() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
