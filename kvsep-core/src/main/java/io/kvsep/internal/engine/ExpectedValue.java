package io.kvsep.internal.engine;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Lets a single record happen only if its key has a certain value, null for none. */
@SuppressWarnings("ArrayRecordComponent") // never compared
record ExpectedValue(StoreReads reads, byte @Nullable [] expected) implements CommitCondition {
  @Override
  public boolean holds(WriteRequest request) {
    byte[] found = reads.get(request.single.keyspace, request.single.key, StoreReads.LATEST);
    return Arrays.equals(found, expected);
  }
}
