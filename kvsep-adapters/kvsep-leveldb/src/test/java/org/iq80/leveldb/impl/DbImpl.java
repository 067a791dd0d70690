package org.iq80.leveldb.impl;

import io.kvsep.KvStore;
import io.kvsep.leveldb.KvsepDBFactory;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;
import org.iq80.leveldb.util.Slice;

/**
 * A database of kvsep under the name of the class that LevelDB's tests construct. Test classes come
 * first on the class path, so this one hides theirs.
 */
public final class DbImpl implements DB {
  /** Some tests close none of their databases. */
  private static final List<DbImpl> OPEN = new CopyOnWriteArrayList<>();

  private final DB database;

  public DbImpl(Options options, File directory) throws IOException {
    database = KvsepDBFactory.factory.open(directory, options);
    OPEN.add(this);
  }

  public static void closeAll() {
    OPEN.forEach(DbImpl::close);
    OPEN.clear();
  }

  private KvStore store() {
    return KvsepDBFactory.store(database);
  }

  public void flushMemTable() {
    store().flush();
  }

  public void compactRange(int level, Slice from, Slice to) {
    database.compactRange(from.getBytes(), to.getBytes());
  }

  public int numberOfFilesInLevel(int level) {
    String files = database.getProperty("leveldb.num-files-at-level" + level);
    return files == null ? 0 : Integer.parseInt(files);
  }

  public long getApproximateSizes(Range range) {
    return database.getApproximateSizes(range)[0];
  }

  @Override
  public byte[] get(byte[] key) {
    return database.get(key);
  }

  @Override
  public byte[] get(byte[] key, ReadOptions options) {
    return database.get(key, options);
  }

  @Override
  public SeekingIteratorAdapter iterator() {
    return new SeekingIteratorAdapter(database.iterator());
  }

  @Override
  public SeekingIteratorAdapter iterator(ReadOptions options) {
    return new SeekingIteratorAdapter(database.iterator(options));
  }

  @Override
  public void put(byte[] key, byte[] value) {
    database.put(key, value);
  }

  @Override
  public Snapshot put(byte[] key, byte[] value, WriteOptions options) {
    return database.put(key, value, options);
  }

  @Override
  public void delete(byte[] key) {
    database.delete(key);
  }

  @Override
  public Snapshot delete(byte[] key, WriteOptions options) {
    return database.delete(key, options);
  }

  @Override
  public WriteBatch createWriteBatch() {
    return database.createWriteBatch();
  }

  @Override
  public void write(WriteBatch updates) {
    database.write(updates);
  }

  @Override
  public Snapshot write(WriteBatch updates, WriteOptions options) {
    return database.write(updates, options);
  }

  @Override
  public Snapshot getSnapshot() {
    return database.getSnapshot();
  }

  @Override
  public long[] getApproximateSizes(Range... ranges) {
    return database.getApproximateSizes(ranges);
  }

  @Override
  public String getProperty(String name) {
    return database.getProperty(name);
  }

  @Override
  public void suspendCompactions() throws InterruptedException {
    database.suspendCompactions();
  }

  @Override
  public void resumeCompactions() {
    database.resumeCompactions();
  }

  @Override
  public void compactRange(byte[] begin, byte[] end) {
    database.compactRange(begin, end);
  }

  @Override
  public void close() {
    try {
      database.close();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
