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
 * Files of a bulk load to which nothing refers yet, registered before they are created; {@link
 * #close} deletes them. Counts the bytes written, by all loads. Any thread may add, count and read;
 * the rest is for one thread at a time.
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

  void finished(TableMeta table) {
    tableBytes.addAndGet(table.fileBytes());
  }

  void finished(ValueFile file) {
    valueBytes.addAndGet(file.bytes());
  }

  long tableBytesWritten() {
    return tableBytes.get();
  }

  long valueBytesWritten() {
    return valueBytes.get();
  }

  void delete(Collection<String> some) {
    names.removeAll(some);
    some.forEach(this::delete);
  }

  /** Gives up ownership of the files. */
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
      // It is already gone, or stays as an orphan; the next open removes it.
      return;
    }
  }
}
