package io.kvsep.internal.vlog;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Detects that a manifest has lost the edit of a segment. An unknown file alone proves nothing:
 * files of all kinds are complete before their edit. But a frame is written to a segment only once
 * its edit is durable.
 */
public final class UnknownSegments {
  private UnknownSegments() {}

  /**
   * Returns the name of a segment whose edit is lost, or null.
   *
   * @param names of the existing files
   * @param idLimit the manifest knows only lower segment ids
   */
  public static @Nullable String withFrames(
      Storage storage, Collection<String> names, StoreId storeId, long idLimit) {
    for (String name : names) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT
          && StoreFiles.numberOf(name) >= idLimit
          && LogScanner.holdsFrame(storage, storeId, StoreFiles.numberOf(name))) {
        return name;
      }
    }
    return null;
  }
}
