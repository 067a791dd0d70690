package io.kvsep.internal.read;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.version.TableFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a cursor of the engine may see, and in which order.
 *
 * @param from first user key, null for the keyspace's first
 * @param to user key behind the last, null for the keyspace's end
 * @param limit how many entries forward it may go from where it begins, each seek beginning anew
 * @param prefetch entries to read ahead of the cursor: none, so many, or {@link #ADAPTIVE}
 */
public record ScanBounds(
    int keyspace,
    byte @Nullable [] from,
    byte @Nullable [] to,
    boolean reverse,
    boolean keysOnly,
    long limit,
    int prefetch) {
  /** Values are read ahead when they are not in memory. */
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

  /** The same without a limit, which somebody else keeps. */
  public ScanBounds unlimited() {
    return new ScanBounds(keyspace, from, to, reverse, keysOnly, Long.MAX_VALUE, prefetch);
  }

  /** First stored key within the bounds. */
  public byte[] lower() {
    return storedKey(from == null ? new byte[0] : from);
  }

  /** First stored key behind the bounds. */
  public byte[] upper() {
    if (to != null) {
      return storedKey(to);
    }
    return Keyspaces.end(keyspace);
  }

  /** Those of some tables whose range meets the bounds, in the same order. */
  List<TableFile> within(List<TableFile> tables) {
    byte[] lower = lower();
    byte[] upper = upper();
    List<TableFile> found = new ArrayList<>(tables.size());
    for (TableFile table : tables) {
      if (Arrays.compareUnsigned(table.meta().largestKey(), lower) >= 0
          && Arrays.compareUnsigned(table.meta().smallestKey(), upper) < 0) {
        found.add(table);
      }
    }
    return found;
  }

  public byte[] storedKey(byte[] userKey) {
    return Keyspaces.storedKey(keyspace, userKey);
  }
}
