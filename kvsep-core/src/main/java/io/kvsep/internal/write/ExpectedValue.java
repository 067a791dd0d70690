package io.kvsep.internal.write;

import io.kvsep.internal.read.StoreReads;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Commits a single record only if its key has this value; null means absent. A value of another
 * length is not read.
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record ExpectedValue(StoreReads reads, byte @Nullable [] expected) implements CommitCondition {
  @Override
  public boolean holds(WriteRequest request) {
    int keyspace = request.single.keyspace;
    byte[] key = request.single.key;
    byte[] value = expected;
    if (value == null) {
      return !reads.contains(keyspace, key, StoreReads.LATEST);
    }
    Boolean same =
        reads.readWithInfo(
            keyspace,
            key,
            StoreReads.LATEST,
            value.length,
            (found, view) -> ByteBuffer.wrap(value).equals(view));
    return same != null && same;
  }
}
