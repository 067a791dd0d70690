package io.kvsep.internal.version;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
 * One table of a running store: its manifest facts and, while needed, its reader. One object while
 * any version holds the table, in any level.
 *
 * <p>Thread safe. Using an open table costs one volatile read. The reader is opened on first use,
 * and the {@link ReaderCache} may close it at any time: a caller stays inside the epochs ({@link
 * #reader}) or pins it ({@link #iterator}), and retains a version with the table. After a failed
 * open the next caller tries again.
 */
public final class TableFile implements AutoCloseable, ReaderCache.Holder<TableReader> {
  private static final VarHandle READER = readerHandle();

  private final TableMeta meta;
  private final Storage storage;
  private final StoreId storeId;
  private final TableCache cache;

  /** Computed once: a table may reference very many segments. */
  private final long valueBytes;

  private final long recordCount;
  private final long expiryDueMillis;

  /** Holds one pin while it is set. */
  private volatile @Nullable TableReader reader;

  @GuardedBy("this")
  private boolean closed;

  /** Distinct levels of live versions that have this table. Guarded by LiveFiles. */
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

  /** Bytes of the log records that the table references. */
  public long valueBytes() {
    return valueBytes;
  }

  public long recordCount() {
    return recordCount;
  }

  /** Milliseconds since the epoch, see {@link ExpiryEstimate}; {@link Long#MAX_VALUE} for never. */
  public long expiryDueMillis() {
    return expiryDueMillis;
  }

  /** Valid while the caller stays inside the epochs. */
  public TableReader reader() {
    TableReader current = reader;
    if (current != null) {
      return current;
    }
    current = pinned();
    // From here on the epochs protect it, even if it was evicted meanwhile.
    current.unpin();
    return current;
  }

  /**
   * Like {@link #reader}, but null if the table is not open and its range excludes the key. Costs
   * the same if it is open.
   */
  public @Nullable TableReader readerFor(Region key, long offset, int length) {
    TableReader current = reader;
    if (current != null) {
      return current;
    }
    return covers(key, offset, length) ? reader() : null;
  }

  /** Whether the range from the smallest to the largest key has the key. */
  public boolean covers(Region key, long offset, int length) {
    return key.compareTo(offset, length, meta.smallestKey()) >= 0
        && key.compareTo(offset, length, meta.largestKey()) <= 0;
  }

  /** On the heap: valid even after the table is closed. */
  public RangeTombstones rangeTombstones() {
    return meta.rangeCount() == 0 ? RangeTombstones.NONE : reader().rangeTombstones();
  }

  /** Pins the reader until the iterator is closed. */
  public InternalIterator iterator(MemoryLedger ledger) {
    cache.countLookup();
    cache.used(this);
    return pinned().pinnedIterator(ledger);
  }

  /** Reports use of the reader; now and then is enough. */
  public void used() {
    cache.used(this);
  }

  public boolean isOpen() {
    return reader != null;
  }

  /** Closes the reader once it is not pinned. The table cannot be read afterwards. */
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
    cache.closed(this);
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

  /** Whether this is the first holder. */
  boolean retain() {
    return holders++ == 0;
  }

  /** Whether this was the last holder. */
  boolean release() {
    return --holders == 0;
  }

  /** The reader with a pin for the caller. */
  private TableReader pinned() {
    TableReader current = reader;
    if (current != null && current.tryPin()) {
      return current;
    }
    TableReader opened;
    synchronized (this) {
      // A reader that cannot be pinned was unlinked after it was loaded.
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
      // Not under the lock: evicting other readers may run arbitrary code.
      cache.opened(this, opened);
      handedOver = true;
      return opened;
    } finally {
      if (!handedOver) {
        opened.unpin();
      }
    }
  }

  @GuardedBy("this")
  private TableReader open() {
    if (closed) {
      throw new StoreClosedException("table " + meta.number() + " is closed");
    }
    try {
      return TableReader.open(storage, meta, storeId, cache);
    } catch (IOException e) {
      throw cannotOpen(e);
    } catch (InternalError e) {
      // An unreadable page is an Error, which callers that can do without the table do not catch.
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
