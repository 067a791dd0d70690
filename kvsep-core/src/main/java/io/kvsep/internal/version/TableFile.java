package io.kvsep.internal.version;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableReader;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * One table of the running store: what the manifest says about it, and its reader once somebody
 * needed it. The same object for as long as any version holds the table, also when it moves to
 * another level.
 *
 * <p>Thread safe. An open table costs one volatile read. Whoever reads must pin a version that
 * holds the table, and close no table that others may be inside of. A failed open is tried again by
 * the next reader.
 */
public final class TableFile implements AutoCloseable {
  private final TableMeta meta;
  private final Storage storage;
  private final StoreId storeId;

  private volatile @Nullable TableReader reader;

  /** Guarded by this. */
  private boolean closed;

  /** Live versions that hold this table, counted once per distinct level. Guarded by LiveFiles. */
  private int holders;

  TableFile(TableMeta meta, Storage storage, StoreId storeId) {
    this.meta = meta;
    this.storage = storage;
    this.storeId = storeId;
  }

  public TableMeta meta() {
    return meta;
  }

  /** The reader, which is opened on first use. */
  public TableReader reader() {
    TableReader current = reader;
    return current != null ? current : openReader();
  }

  public boolean isOpen() {
    return reader != null;
  }

  /** Closes the reader if there is one; the table cannot be read again. */
  @Override
  public synchronized void close() {
    closed = true;
    TableReader current = reader;
    if (current != null) {
      reader = null;
      current.close();
    }
  }

  /** Whether that was the first holder. */
  boolean retain() {
    return holders++ == 0;
  }

  /** Whether that was the last holder. */
  boolean release() {
    return --holders == 0;
  }

  private synchronized TableReader openReader() {
    TableReader current = reader;
    if (current != null) {
      return current;
    }
    if (closed) {
      throw new StoreClosedException("table " + meta.number() + " is closed");
    }
    try {
      current = TableReader.open(storage, meta, storeId);
    } catch (IOException e) {
      throw new StorageException("cannot open " + StoreFiles.table(meta.number()), e);
    }
    reader = current;
    return current;
  }

  @Override
  public String toString() {
    return StoreFiles.table(meta.number());
  }
}
