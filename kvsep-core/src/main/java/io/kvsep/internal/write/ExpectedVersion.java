package io.kvsep.internal.write;

import io.kvsep.EntryInfo;
import io.kvsep.internal.read.StoreReads;

/** Commits a single record only if its key's entry has this version; 0 means absent. */
record ExpectedVersion(StoreReads reads, long version) implements CommitCondition {
  @Override
  public boolean holds(WriteRequest request) {
    EntryInfo found = reads.info(request.single.keyspace, request.single.key, StoreReads.LATEST);
    return (found == null ? 0 : found.version()) == version;
  }
}
