package io.kvsep.server.cluster;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Indices of the logs of a cluster, one for each shard that counts. Immutable.
 *
 * <p>As text, for headers: the index alone if there is one shard, else SHARD:INDEX, for several
 * shards with commas between.
 */
public final class LogPosition {
  /** No index of any shard. */
  public static final LogPosition NONE = new LogPosition(new long[0]);

  /** By shard, -1 for none. */
  private final long[] indices;

  private LogPosition(long[] indices) {
    this.indices = indices;
  }

  /**
   * The indices of a cluster.
   *
   * @param indices for each shard, negative for none
   */
  public static LogPosition of(long... indices) {
    return new LogPosition(indices.clone());
  }

  /**
   * Reads the text of a position, null if it is none.
   *
   * @param shards the number of shards of the cluster
   */
  public static @Nullable LogPosition parse(String text, int shards) {
    long[] indices = new long[shards];
    Arrays.fill(indices, -1);
    try {
      for (String part : text.strip().split(",", -1)) {
        int colon = part.indexOf(':');
        int shard = colon < 0 ? 0 : Integer.parseInt(part.substring(0, colon).strip());
        if ((colon < 0) != (shards == 1) || shard < 0 || shard >= shards || indices[shard] >= 0) {
          return null;
        }
        indices[shard] = Math.max(-1, Long.parseLong(part.substring(colon + 1).strip()));
      }
      return new LogPosition(indices);
    } catch (NumberFormatException e) {
      return null;
    }
  }

  /** The index of a shard, -1 for none. */
  public long index(int shard) {
    return shard < indices.length ? indices[shard] : -1;
  }

  /** Whether there is no index of any shard. */
  public boolean isEmpty() {
    for (long index : indices) {
      if (index >= 0) {
        return false;
      }
    }
    return true;
  }

  /** The higher index of each shard. */
  public LogPosition max(LogPosition other) {
    long[] highest = Arrays.copyOf(indices, Math.max(indices.length, other.indices.length));
    for (int i = 0; i < highest.length; i++) {
      highest[i] = Math.max(index(i), other.index(i));
    }
    return new LogPosition(highest);
  }

  @Override
  public String toString() {
    if (indices.length == 1) {
      return Long.toString(indices[0]);
    }
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < indices.length; i++) {
      if (indices[i] >= 0) {
        text.append(text.isEmpty() ? "" : ",").append(i).append(':').append(indices[i]);
      }
    }
    return text.toString();
  }
}
