package io.kvsep.internal.load;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.load.LoadValues.ValueFile;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Files of a bulk load to which nothing refers yet, from before they are made; {@link #close}
 * deletes those that are there. Counts what is written to them. Any thread may add, count and look,
 * one at a time does the rest.
 */
final class LoadFiles implements AutoCloseable {
  private final Storage storage;
  private final Set<String> names = ConcurrentHashMap.newKeySet();
  private final AtomicLong tableBytes = new AtomicLong();
  private final AtomicLong valueBytes = new AtomicLong();

  LoadFiles(Storage storage) {
    this.storage = storage;
  }

  void add(String name) {
    names.add(name);
  }

  Set<String> names() {
    return Set.copyOf(names);
  }

  /** A table was written, of a run or of what runs were merged into. */
  void finished(TableMeta table) {
    tableBytes.addAndGet(table.fileBytes());
  }

  /** A file of values was written. */
  void finished(ValueFile file) {
    valueBytes.addAndGet(file.bytes());
  }

  /** Written to tables by all loads, whatever became of these. */
  long tableBytesWritten() {
    return tableBytes.get();
  }

  /** Written to files of values by all loads, whatever became of these. */
  long valueBytesWritten() {
    return valueBytes.get();
  }

  /** Deletes some of them now. */
  void delete(Collection<String> some) {
    names.removeAll(some);
    some.forEach(this::delete);
  }

  /** They belong to somebody else from now on. */
  void handOver() {
    names.clear();
  }

  @Override
  public void close() {
    names.forEach(this::delete);
    names.clear();
  }

  private void delete(String name) {
    try {
      storage.delete(name);
    } catch (IOException e) {
      // It is gone already, or stays as an orphan; the next open removes it.
      return;
    }
  }
}
