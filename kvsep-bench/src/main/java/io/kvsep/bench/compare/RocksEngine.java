package io.kvsep.bench.compare;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.HyperClockCache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** RocksDB, with values in its tables or in blob files. */
final class RocksEngine implements Engine {
  private static final long MIB = 1 << 20;

  /** Native objects, closed in reverse order. */
  private final Deque<AutoCloseable> owned = new ArrayDeque<>();

  private final RocksDB db;
  private final WriteOptions writeOptions;
  private final ReadOptions readOptions;
  private final int valueBytesMax;
  private final String settings;

  RocksEngine(EngineOptions given, boolean blobs) {
    RocksDB.loadLibrary();
    Tuning tuning = given.tuning();
    Cache cache = own(new LRUCache(given.cacheBytes()));
    if (tuning.flag("rocksdb.clock_cache", false)) {
      cache = own(new HyperClockCache(given.cacheBytes(), 0, -1, false));
    }
    BlockBasedTableConfig table = new BlockBasedTableConfig().setBlockCache(cache);
    tuning.number("rocksdb.block", table::setBlockSize);
    tuning.number("rocksdb.bloom", bits -> table.setFilterPolicy(own(new BloomFilter(bits))));
    tuning.flag("rocksdb.pin_l0", table::setPinL0FilterAndIndexBlocksInCache);
    Options options =
        own(new Options())
            .setCreateIfMissing(true)
            .setTableFormatConfig(table)
            .setEnableBlobFiles(blobs);
    tuning.number("rocksdb.blob_from", options::setMinBlobSize);
    tuning.flag("rocksdb.blob_gc", options::setEnableBlobGarbageCollection);
    tuning.number("rocksdb.bytes_per_sync", options::setBytesPerSync);
    tuning.text(
        "rocksdb.compression",
        name -> options.setCompressionType(CompressionType.getCompressionType(name)));
    tuning.number("rocksdb.jobs", jobs -> options.setMaxBackgroundJobs((int) jobs));
    tuning.number("rocksdb.memtable_mib", size -> options.setWriteBufferSize(size * MIB));
    tuning.number("rocksdb.memtables", count -> options.setMaxWriteBufferNumber((int) count));
    tuning.flag("rocksdb.mmap", options::setAllowMmapReads);
    writeOptions = own(new WriteOptions()).setSync(given.durability() == SyncMode.SYNC);
    readOptions = own(new ReadOptions());
    valueBytesMax = given.valueBytesMax();
    settings =
        given.settings(
            "create_if_missing,block_cache_mib="
                + given.cacheMebibytes()
                + (blobs ? ",blob_files" : ""));
    db = own(open(options, given.directory().toString()));
  }

  private static RocksDB open(Options options, String directory) {
    try {
      return RocksDB.open(options, directory);
    } catch (RocksDBException e) {
      throw new IllegalStateException(e);
    }
  }

  private <T extends AutoCloseable> T own(T object) {
    owned.push(object);
    return object;
  }

  @Override
  public String version() {
    return RocksDB.rocksdbVersion().toString();
  }

  @Override
  public String settings() {
    return settings;
  }

  @Override
  public Writer writer() {
    return new BatchWriter();
  }

  @Override
  public Reader reader(boolean changing) {
    return new DbReader();
  }

  @Override
  public void sync() {
    try {
      db.syncWal();
    } catch (RocksDBException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void flush() {
    try (FlushOptions options = new FlushOptions().setWaitForFlush(true)) {
      db.flush(options);
    } catch (RocksDBException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void maintain() {
    try {
      db.compactRange();
    } catch (RocksDBException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public boolean isIdle() {
    return property("rocksdb.num-running-compactions") == 0
        && property("rocksdb.num-running-flushes") == 0
        && property("rocksdb.compaction-pending") == 0
        && property("rocksdb.mem-table-flush-pending") == 0;
  }

  private long property(String name) {
    try {
      return db.getLongProperty(name);
    } catch (RocksDBException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    try {
      while (!owned.isEmpty()) {
        owned.pop().close();
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private final class BatchWriter implements Writer {
    private final WriteBatch batch = new WriteBatch();

    @Override
    public void add(byte[] key, byte[] value) {
      try {
        batch.put(key, value);
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void commit() {
      try {
        db.write(writeOptions, batch);
        batch.clear();
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void put(byte[] key, byte[] value) {
      try {
        db.put(writeOptions, key, value);
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void close() {
      batch.close();
    }
  }

  private final class DbReader extends Reader {
    private final byte[] own = new byte[valueBytesMax];

    @Override
    boolean get(byte[] key) {
      try {
        byte[] value = db.get(readOptions, key);
        if (value == null) {
          return false;
        }
        bytes = value;
        length = value.length;
        return true;
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    boolean getReused(byte[] key) {
      bytes = own;
      try {
        length = db.get(readOptions, key, own);
        return length != RocksDB.NOT_FOUND;
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    Cursor cursor(byte @Nullable [] from, boolean keysOnly) {
      return new DbCursor(db.newIterator(readOptions), from);
    }

    @Override
    public void close() {}
  }

  private static final class DbCursor implements Cursor {
    private final RocksIterator iterator;
    private final byte @Nullable [] from;
    private boolean started;

    DbCursor(RocksIterator iterator, byte @Nullable [] from) {
      this.iterator = iterator;
      this.from = from;
    }

    @Override
    public boolean next() {
      if (started) {
        iterator.next();
      } else {
        if (from == null) {
          iterator.seekToFirst();
        } else {
          iterator.seek(from);
        }
        started = true;
      }
      if (iterator.isValid()) {
        return true;
      }
      try {
        iterator.status();
        return false;
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public int key(byte[] target) {
      return iterator.key(target);
    }

    @Override
    public int value(byte[] target) {
      return iterator.value(target);
    }

    @Override
    public void close() {
      iterator.close();
    }
  }
}
