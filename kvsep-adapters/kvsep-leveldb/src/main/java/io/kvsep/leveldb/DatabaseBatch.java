package io.kvsep.leveldb;

import io.kvsep.WriteBatch;
import io.kvsep.error.KvException;

/**
 * Copies what is put into it. Can be written any number of times, also when closed: LevelDB's own
 * tests do that. Not thread safe.
 */
final class DatabaseBatch implements org.iq80.leveldb.WriteBatch {
  private final WriteBatch writes = new WriteBatch();

  WriteBatch writes() {
    return writes;
  }

  @Override
  public DatabaseBatch put(byte[] key, byte[] value) {
    try {
      writes.put(key, value);
      return this;
    } catch (KvException e) {
      throw KvsepDB.failure(e);
    }
  }

  @Override
  public DatabaseBatch delete(byte[] key) {
    try {
      writes.delete(key);
      return this;
    } catch (KvException e) {
      throw KvsepDB.failure(e);
    }
  }

  @Override
  public void close() {}
}
