package io.kvsep.internal.read;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.version.TableFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a cursor may see, and in which order.
 *
 * @param from first user key, null for the start of the keyspace
 * @param to user key after the last, null for the end of the keyspace
 * @param limit maximum number of entries forward; each seek starts the count again
 * @param prefetch entries to read ahead, 0 for none, or {@link #ADAPTIVE}
 */
public record ScanBounds(
    int keyspace,
    byte @Nullable [] from,
    byte @Nullable [] to,
    boolean reverse,
    boolean keysOnly,
    long limit,
    int prefetch) {
  /** Reads ahead if values are not in memory. */
  public static final int ADAPTIVE = -1;

  public ScanBounds(
      int keyspace,
      byte @Nullable [] from,
      byte @Nullable [] to,
      boolean reverse,
      boolean keysOnly,
      long limit) {
    this(keyspace, from, to, reverse, keysOnly, limit, ADAPTIVE);
  }

  public ScanBounds unlimited() {
    return new ScanBounds(keyspace, from, to, reverse, keysOnly, Long.MAX_VALUE, prefetch);
  }

  /** The first stored key and the first one behind the bounds; the arrays are not modified. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Stored(byte[] lower, byte[] upper) {
    /** The tables that overlap the bounds, in order. */
    List<TableFile> within(List<TableFile> tables) {
      List<TableFile> found = new ArrayList<>(tables.size());
      for (TableFile table : tables) {
        if (Arrays.compareUnsigned(table.meta().largestKey(), lower) >= 0
            && Arrays.compareUnsigned(table.meta().smallestKey(), upper) < 0) {
          found.add(table);
        }
      }
      return found;
    }
  }

  Stored stored() {
    return new Stored(lower(), upper());
  }

  public byte[] lower() {
    return storedKey(from == null ? new byte[0] : from);
  }

  /** First stored key after the bounds. */
  public byte[] upper() {
    if (to != null) {
      return storedKey(to);
    }
    return Keyspaces.end(keyspace);
  }

  public byte[] storedKey(byte[] userKey) {
    return Keyspaces.storedKey(keyspace, userKey);
  }
}
