package io.kvsep.bench.compare;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
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

/** RocksDB, with values in its tables or, from 256 bytes on, in blob files. */
final class RocksEngine implements Engine {
  private static final long MIB = 1 << 20;
  private static final int KEY_BYTES_MAX = 64;
  private static final long BLOB_BYTES_MIN = 257;

  /** Native objects, closed in reverse order. */
  private final Deque<AutoCloseable> owned = new ArrayDeque<>();

  private final RocksDB db;
  private final WriteOptions writeOptions;
  private final ReadOptions readOptions;
  private final ReadOptions scanOptions;
  private final int valueBytesMax;
  private final boolean direct;
  private final String settings;

  RocksEngine(EngineOptions given, boolean blobs) {
    RocksDB.loadLibrary();
    Tuning tuning = given.tuning();
    long block = tuning.number("rocksdb.block", 4096);
    boolean clock = tuning.text("rocksdb.cache", "clock").equals("clock");
    // Mapped files are much faster than its own cache as long as all of them stay in memory.
    boolean mapped = tuning.flag("rocksdb.mmap", 2 * given.rawBytes() < given.memoryBytes());
    long readahead = tuning.number("rocksdb.readahead", 0);
    boolean fillCache = tuning.flag("rocksdb.fillcache", true);
    boolean cacheIndex = tuning.flag("rocksdb.cacheindex", false);
    long memtableMebibytes = tuning.number("rocksdb.buffer_mib", 64);
    int memtables = (int) tuning.number("rocksdb.buffers", 4);
    int jobs = (int) tuning.number("rocksdb.jobs", 2);
    String write = tuning.text("rocksdb.write", "plain");
    BlockBasedTableConfig table =
        new BlockBasedTableConfig()
            .setBlockCache(own(cache(given.cacheBytes(), clock)))
            .setBlockSize(block)
            .setFilterPolicy(own(new BloomFilter(10, false)))
            .setCacheIndexAndFilterBlocks(cacheIndex)
            .setPinL0FilterAndIndexBlocksInCache(true)
            .setFormatVersion(6);
    Options options =
        own(new Options())
            .setCreateIfMissing(true)
            .setTableFormatConfig(table)
            .setMaxBackgroundJobs(jobs)
            .setBytesPerSync(MIB)
            .setWriteBufferSize(memtableMebibytes * MIB)
            .setMaxWriteBufferNumber(memtables)
            .setLevelCompactionDynamicLevelBytes(true)
            .setCompressionType(CompressionType.NO_COMPRESSION)
            .setAllowMmapReads(mapped)
            .setEnablePipelinedWrite(write.equals("pipelined"))
            .setUnorderedWrite(write.equals("unordered"))
            .setStatsDumpPeriodSec(0)
            .setEnableBlobFiles(blobs)
            .setMinBlobSize(BLOB_BYTES_MIN)
            .setEnableBlobGarbageCollection(blobs);
    writeOptions = own(new WriteOptions()).setSync(given.durability() == SyncMode.SYNC);
    readOptions = own(new ReadOptions());
    scanOptions = own(new ReadOptions()).setReadaheadSize(readahead).setFillCache(fillCache);
    direct = tuning.text("rocksdb.get", "array").equals("direct");
    valueBytesMax = given.valueBytesMax();
    settings =
        String.format(
            Locale.ROOT,
            "cache_mib=%d,cache=%s,cache_index=%b,block=%d,bloom=10,memtables=%dx%dMiB,jobs=%d,"
                + "compression=none,mmap_reads=%b,readahead=%d,fill_cache=%b,get=%s,write=%s,"
                + "blob_from=%d,durability=%s",
            given.cacheBytes() / MIB,
            clock ? "clock" : "lru",
            cacheIndex,
            block,
            memtables,
            memtableMebibytes,
            jobs,
            mapped,
            readahead,
            fillCache,
            direct ? "direct" : "array",
            write,
            blobs ? BLOB_BYTES_MIN : 0,
            given.durability().word);
    db = own(open(options, given.directory().toString()));
  }

  private static Cache cache(long bytes, boolean clock) {
    return clock ? new HyperClockCache(bytes, 0, -1, false) : new LRUCache(bytes);
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
    private final ByteBuffer keyBuffer = ByteBuffer.allocateDirect(KEY_BYTES_MAX);
    private final ByteBuffer valueBuffer = ByteBuffer.allocateDirect(direct ? valueBytesMax : 0);

    DbReader() {
      bytes = new byte[valueBytesMax];
    }

    @Override
    boolean get(byte[] key) {
      if (direct) {
        return getDirect(key);
      }
      try {
        length = db.get(readOptions, key, bytes);
        return length != RocksDB.NOT_FOUND;
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    private boolean getDirect(byte[] key) {
      keyBuffer.clear();
      keyBuffer.put(key).flip();
      valueBuffer.clear();
      try {
        length = db.get(readOptions, keyBuffer, valueBuffer);
        if (length == RocksDB.NOT_FOUND) {
          return false;
        }
        valueBuffer.get(bytes, 0, length);
        return true;
      } catch (RocksDBException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    Cursor cursor(boolean keysOnly) {
      return new DbCursor(db.newIterator(scanOptions));
    }

    @Override
    public void close() {}
  }

  private static final class DbCursor implements Cursor {
    private final RocksIterator iterator;
    private boolean started;

    DbCursor(RocksIterator iterator) {
      this.iterator = iterator;
    }

    @Override
    public boolean next() {
      if (started) {
        iterator.next();
      } else {
        iterator.seekToFirst();
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
