package io.kvsep.internal.vlog;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Tells whether a manifest has lost the edit of a segment. A file that it does not know is no sign
 * of that: segments and relocated files are whole before their edit is begun, and so are the files
 * of values of a bulk load. But a frame is written into a segment only once its edit is durable.
 */
public final class UnknownSegments {
  private UnknownSegments() {}

  /**
   * Name of a segment of which the manifest has lost the edit, null when there is none.
   *
   * @param names of the files there are
   * @param idLimit the manifest knows nothing of segments with this id or a higher one
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
