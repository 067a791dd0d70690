package io.kvsep.kafka.streams;

import io.kvsep.KvWriter;
import io.kvsep.WriteBatch;

/** Writes to the keyspace of a store, which go to a batch or to a buffer. */
interface Writes {
  void put(byte[] key, byte[] value);

  void delete(byte[] key);

  void deleteRange(byte[] fromInclusive, byte[] toExclusive);

  static Writes to(WriteBatch batch) {
    return new Writes() {
      @Override
      public void put(byte[] key, byte[] value) {
        batch.put(key, value);
      }

      @Override
      public void delete(byte[] key) {
        batch.delete(key);
      }

      @Override
      public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
        batch.deleteRange(fromInclusive, toExclusive);
      }
    };
  }

  static Writes to(KvWriter writer) {
    return new Writes() {
      @Override
      public void put(byte[] key, byte[] value) {
        writer.put(key, value);
      }

      @Override
      public void delete(byte[] key) {
        writer.delete(key);
      }

      @Override
      public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
        writer.deleteRange(fromInclusive, toExclusive);
      }
    };
  }
}
