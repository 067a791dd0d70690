package io.kvsep.cluster;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction or a write buffer has read and written. Own writes that are read back are no
 * reads. Not thread safe.
 */
final class Recorder {
  /** A key; equal by content. */
  record Key(@Nullable String keyspace, byte[] bytes) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Key that
          && Objects.equals(keyspace, that.keyspace)
          && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
      return 31 * Objects.hashCode(keyspace) + Arrays.hashCode(bytes);
    }
  }

  /** A range that was scanned, or deleted; null for an open end. */
  record Range(@Nullable String keyspace, byte @Nullable [] from, byte @Nullable [] to) {
    boolean covers(@Nullable String other, byte[] key) {
      return Objects.equals(keyspace, other)
          && (from == null || Arrays.compareUnsigned(from, key) <= 0)
          && (to == null || Arrays.compareUnsigned(key, to) < 0);
    }
  }

  private final ReplicatedStore replicated;
  private final boolean tracksReads;
  private final long readMillis;
  private final Set<Key> read = new LinkedHashSet<>();
  private final List<TrackingCursor> cursors = new ArrayList<>();
  private final Set<Key> written = new HashSet<>();
  private final List<Range> deleted = new ArrayList<>();
  private RequestWriter request;
  private long version;

  /**
   * @param tracksReads false for a write buffer
   * @param readMillis the time of all reads, as for {@link GroupClock#at}
   */
  Recorder(ReplicatedStore replicated, boolean tracksReads, long readMillis) {
    this.replicated = replicated;
    this.tracksReads = tracksReads;
    this.readMillis = readMillis;
    request = replicated.newRequest();
  }

  /** Takes the writes. */
  RequestWriter request() {
    return request;
  }

  /** The version of the last value that was put, 0 if none was. */
  long version() {
    return version;
  }

  void reads(@Nullable String keyspace, byte[] key) {
    if (tracksReads) {
      Key wrapped = new Key(keyspace, key.clone());
      if (!written.contains(wrapped)
          && deleted.stream().noneMatch(range -> range.covers(keyspace, key))) {
        read.add(wrapped);
      }
    }
  }

  /** A cursor whose movements are reads. */
  void scans(TrackingCursor cursor) {
    cursors.add(cursor);
  }

  boolean tracksReads() {
    return tracksReads;
  }

  long readMillis() {
    return readMillis;
  }

  void puts(@Nullable String keyspace, byte[] key, byte[] value) {
    version = ContentHash.version(ByteBuffer.wrap(value));
    written.add(new Key(keyspace, key.clone()));
  }

  void deletes(@Nullable String keyspace, byte[] key) {
    version = Math.max(1, version);
    written.add(new Key(keyspace, key.clone()));
  }

  void deletesRange(@Nullable String keyspace, byte[] from, byte[] to) {
    version = Math.max(1, version);
    deleted.add(new Range(keyspace, from.clone(), to.clone()));
  }

  Set<Key> keysRead() {
    return read;
  }

  /** Ranges that cursors have seen, overlapping ones joined. */
  List<Range> rangesRead() {
    Map<@Nullable String, List<Range>> byKeyspace = new HashMap<>();
    for (TrackingCursor cursor : cursors) {
      Range range = cursor.covered();
      if (range != null) {
        byKeyspace.computeIfAbsent(range.keyspace(), name -> new ArrayList<>()).add(range);
      }
    }
    List<Range> joined = new ArrayList<>();
    for (List<Range> ranges : byKeyspace.values()) {
      ranges.sort((a, b) -> compareFrom(a.from(), b.from()));
      Range last = ranges.get(0);
      for (Range next : ranges.subList(1, ranges.size())) {
        if (last.to() == null
            || next.from() == null
            || Arrays.compareUnsigned(next.from(), last.to()) <= 0) {
          last = new Range(last.keyspace(), last.from(), later(last.to(), next.to()));
        } else {
          joined.add(last);
          last = next;
        }
      }
      joined.add(last);
    }
    return joined;
  }

  /** Forgets everything. */
  void clear() {
    read.clear();
    cursors.clear();
    written.clear();
    deleted.clear();
    request = replicated.newRequest();
    version = 0;
  }

  private static int compareFrom(byte @Nullable [] a, byte @Nullable [] b) {
    if (a == null || b == null) {
      return Boolean.compare(a != null, b != null);
    }
    return Arrays.compareUnsigned(a, b);
  }

  private static byte @Nullable [] later(byte @Nullable [] a, byte @Nullable [] b) {
    return a == null || b == null ? null : Arrays.compareUnsigned(a, b) < 0 ? b : a;
  }
}
