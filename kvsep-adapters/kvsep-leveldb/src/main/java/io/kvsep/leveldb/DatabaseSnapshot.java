package io.kvsep.leveldb;

import io.kvsep.KvReader;
import io.kvsep.Snapshot;

/** A snapshot with the database to which it belongs. Thread safe. */
record DatabaseSnapshot(KvsepDB database, Snapshot snapshot) implements org.iq80.leveldb.Snapshot {
  KvReader reader() {
    return snapshot;
  }

  @Override
  public void close() {
    snapshot.close();
  }
}
