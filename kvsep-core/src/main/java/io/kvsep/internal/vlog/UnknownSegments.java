package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Tells whether a manifest has lost the edit of a segment. A file that it does not know is no sign
 * of that: segments and relocated files are whole before their edit is begun, and so are the files
 * of values of a bulk load. But a frame is written into a segment only once its edit is durable,
 * and so is the end of the segment in front of it.
 */
public final class UnknownSegments {
  private UnknownSegments() {}

  /**
   * Whether the log knows a segment or a keyspace of which the manifest has lost the edit: there is
   * one with frames or with entries that it does not know, or the log goes on behind the last
   * segment that it knows.
   *
   * @param names of the files there are
   * @param idLimit the manifest knows nothing of segments with this id or a higher one
   * @param replayed the segments from which it would have entries read, in their order
   * @param from where in the first of them that begins
   * @param isLastSealed whether it says how long the last of them is
   * @param keyspaceLimit it knows nothing of keyspaces with this id or a higher one
   */
  public static boolean any(
      Storage storage,
      Collection<String> names,
      StoreId storeId,
      long idLimit,
      List<Long> replayed,
      long from,
      boolean isLastSealed,
      int keyspaceLimit) {
    if (withFrames(storage, names, storeId, idLimit) != null) {
      return true;
    }
    for (int i = 0; i < replayed.size(); i++) {
      boolean isLast = i == replayed.size() - 1;
      try (LogScanner scanner =
          LogScanner.open(storage, storeId, replayed.get(i), i == 0 ? from : 0)) {
        boolean ends = isLast && !isLastSealed;
        if (knowsMore(scanner, ends, keyspaceLimit)) {
          return true;
        }
      } catch (CorruptionException | IncompatibleFormatException e) {
        // What is wrong with the segment is told when it is read.
        return false;
      }
    }
    return false;
  }

  private static boolean knowsMore(LogScanner scanner, boolean ends, int keyspaceLimit) {
    long leastSequence = 0;
    while (scanner.next(leastSequence)) {
      leastSequence = scanner.endSequence();
    }
    return scanner.largestKeyspace() >= keyspaceLimit || (ends && scanner.isComplete());
  }

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
