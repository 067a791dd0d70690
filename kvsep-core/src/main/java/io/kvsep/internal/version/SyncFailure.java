package io.kvsep.internal.version;

import java.io.IOException;

/**
 * A failed sync, unlike a failed write, leaves it unknown what the device holds; a retry would not
 * tell.
 */
final class SyncFailure extends IOException {
  private static final long serialVersionUID = 1L;

  SyncFailure(String name, IOException cause) {
    super("sync failed: " + name, cause);
  }
}
