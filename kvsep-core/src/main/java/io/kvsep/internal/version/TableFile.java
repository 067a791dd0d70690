package io.kvsep.internal.version;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFault;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.ReaderCache;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableReader;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * One table of the running store: what the manifest says about it, and its reader while somebody
 * needs it. The same object for as long as any version holds the table, also when it moves to
 * another level.
 *
 * <p>Thread safe. A table that is open costs one volatile read. The reader is opened on first use
 * and may be closed again at any time by the {@link ReaderCache}; whoever works with it is inside
 * the epochs ({@link #reader}) or pins it ({@link #iterator}), and pins a version that holds the
 * table. A failed open is tried again by the next reader.
 */
public final class TableFile implements AutoCloseable, ReaderCache.Holder<TableReader> {
  private static final VarHandle READER = readerHandle();

  private final TableMeta meta;
  private final Storage storage;
  private final StoreId storeId;
  private final TableCache cache;

  /** Summed up once, since a table may reference very many segments. */
  private final long valueBytes;

  private final long recordCount;
  private final long expiryDueMillis;

  /** With the pin that stands for being found here. */
  private volatile @Nullable TableReader reader;

  /** Guarded by this. */
  private boolean closed;

  /** Live versions that hold this table, counted once per distinct level. Guarded by LiveFiles. */
  private int holders;

  TableFile(TableMeta meta, Storage storage, StoreId storeId, TableCache cache) {
    this.meta = meta;
    this.storage = storage;
    this.storeId = storeId;
    this.cache = cache;
    long bytes = 0;
    long records = 0;
    for (TableMeta.SegmentUse use : meta.segments()) {
      bytes += use.liveBytes();
      records += use.records();
    }
    this.valueBytes = bytes;
    this.recordCount = records;
    this.expiryDueMillis = ExpiryEstimate.dueMillis(meta);
  }

  public TableMeta meta() {
    return meta;
  }

  /** Bytes of the log that the table references, in all segments. */
  public long valueBytes() {
    return valueBytes;
  }

  /** How many records of the log it references. */
  public long recordCount() {
    return recordCount;
  }

  /**
   * Milliseconds since the epoch from which on so much of the table has expired that it is worth
   * compacting; {@link Long#MAX_VALUE} for never.
   */
  public long expiryDueMillis() {
    return expiryDueMillis;
  }

  /** The reader, for as long as the caller stays inside the epochs. */
  public TableReader reader() {
    TableReader current = reader;
    if (current != null) {
      return current;
    }
    current = pinned();
    // The epochs hold it from here on, even if it was evicted meanwhile.
    current.unpin();
    return current;
  }

  /**
   * As {@link #reader}, but null where the table is not open and the key lies outside its range:
   * then there is no need to open it. Costs no more than that where it is open.
   */
  public @Nullable TableReader readerFor(Region key, long offset, int length) {
    TableReader current = reader;
    if (current != null) {
      return current;
    }
    return key.compareTo(offset, length, meta.smallestKey()) >= 0
            && key.compareTo(offset, length, meta.largestKey()) <= 0
        ? reader()
        : null;
  }

  /** The deleted ranges; on the heap, so whether the table stays open does not matter. */
  public RangeTombstones rangeTombstones() {
    return meta.rangeCount() == 0 ? RangeTombstones.NONE : reader().rangeTombstones();
  }

  /** A new iterator, which pins the reader until it is closed. */
  public InternalIterator iterator(MemoryLedger ledger) {
    cache.readers().countLookup();
    cache.readers().used(this);
    TableReader current = pinned();
    try {
      return current.iterator(ledger);
    } finally {
      current.unpin();
    }
  }

  /** Says that the reader is in use; now and then is enough. */
  public void used() {
    cache.readers().used(this);
  }

  public boolean isOpen() {
    return reader != null;
  }

  /** Closes the reader once nobody pins it; the table cannot be read again. */
  @Override
  public void close() {
    TableReader current;
    synchronized (this) {
      closed = true;
      current = reader;
      if (current == null || !unlink(current)) {
        return;
      }
    }
    cache.readers().closed(this);
    current.unpin();
  }

  @Override
  public boolean unlink(TableReader linked) {
    return READER.compareAndSet(this, linked, null);
  }

  @Override
  public boolean isLinked(TableReader opened) {
    return reader == opened;
  }

  /** Whether that was the first holder. */
  boolean retain() {
    return holders++ == 0;
  }

  /** Whether that was the last holder. */
  boolean release() {
    return --holders == 0;
  }

  /** The reader with a pin for the caller; opened if need be. */
  private TableReader pinned() {
    TableReader current = reader;
    if (current != null && current.tryPin()) {
      return current;
    }
    TableReader opened;
    synchronized (this) {
      // What is linked can be pinned: a reader that cannot was unlinked since it was looked up.
      for (current = reader; current != null; current = reader) {
        if (current.tryPin()) {
          return current;
        }
      }
      opened = open();
      opened.tryPin();
      reader = opened;
    }
    boolean handedOver = false;
    try {
      // Not under the lock: evicting others may lead anywhere.
      cache.readers().opened(this, opened);
      handedOver = true;
      return opened;
    } finally {
      if (!handedOver) {
        opened.unpin();
      }
    }
  }

  private TableReader open() {
    if (closed) {
      throw new StoreClosedException("table " + meta.number() + " is closed");
    }
    try {
      return TableReader.open(storage, meta, storeId, cache);
    } catch (IOException e) {
      throw cannotOpen(e);
    } catch (InternalError e) {
      // An unreadable page of the mapping is an Error, which those who do without would not catch.
      if (!PageFault.is(e)) {
        throw e;
      }
      throw cannotOpen(e);
    }
  }

  private StorageException cannotOpen(Throwable cause) {
    return new StorageException("cannot open " + StoreFiles.table(meta.number()), cause);
  }

  private static VarHandle readerHandle() {
    try {
      return MethodHandles.lookup().findVarHandle(TableFile.class, "reader", TableReader.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @Override
  public String toString() {
    return StoreFiles.table(meta.number());
  }
}
