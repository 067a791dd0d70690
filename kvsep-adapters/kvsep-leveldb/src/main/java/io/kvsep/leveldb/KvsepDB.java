package io.kvsep.leveldb;

import io.kvsep.Durability;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import io.kvsep.error.KvException;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;
import org.jspecify.annotations.Nullable;

/** A store with LevelDB's interface; {@link KvsepDBFactory} says how they differ. Thread safe. */
final class KvsepDB implements DB {
  private static final String FILES_AT_LEVEL = "leveldb.num-files-at-level";
  private static final WriteOptions WRITE_DEFAULTS = new WriteOptions();
  private static final ReadOptions READ_DEFAULTS = new ReadOptions();

  private final KvStore store;

  KvsepDB(KvStore store) {
    this.store = store;
  }

  KvStore store() {
    return store;
  }

  static DBException failure(KvException e) {
    return new DBException(e.getMessage(), e);
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    return get(key, READ_DEFAULTS);
  }

  @Override
  public byte @Nullable [] get(byte[] key, ReadOptions options) {
    try {
      return reader(options).get(key);
    } catch (KvException e) {
      throw failure(e);
    }
  }

  private KvReader reader(ReadOptions options) {
    Snapshot snapshot = options.snapshot();
    if (snapshot == null) {
      return store;
    }
    if (snapshot instanceof DatabaseSnapshot own && own.database() == this) {
      return own.reader();
    }
    throw new IllegalArgumentException("not a snapshot of this database: " + snapshot);
  }

  @Override
  public DBIterator iterator() {
    return iterator(READ_DEFAULTS);
  }

  @Override
  public DBIterator iterator(ReadOptions options) {
    try {
      return new CursorIterator(reader(options).cursor());
    } catch (KvException e) {
      throw failure(e);
    }
  }

  @Override
  public void put(byte[] key, byte[] value) {
    put(key, value, WRITE_DEFAULTS);
  }

  @Override
  public @Nullable Snapshot put(byte[] key, byte[] value, WriteOptions options) {
    try {
      if (options.sync()) {
        store.write(new io.kvsep.WriteBatch().put(key, value), Durability.sync());
      } else {
        store.put(key, value);
      }
      return options.snapshot() ? snapshot() : null;
    } catch (KvException e) {
      throw failure(e);
    }
  }

  @Override
  public void delete(byte[] key) {
    delete(key, WRITE_DEFAULTS);
  }

  @Override
  public @Nullable Snapshot delete(byte[] key, WriteOptions options) {
    try {
      if (options.sync()) {
        store.write(new io.kvsep.WriteBatch().delete(key), Durability.sync());
      } else {
        store.delete(key);
      }
      return options.snapshot() ? snapshot() : null;
    } catch (KvException e) {
      throw failure(e);
    }
  }

  @Override
  public WriteBatch createWriteBatch() {
    return new DatabaseBatch();
  }

  @Override
  public void write(WriteBatch updates) {
    write(updates, WRITE_DEFAULTS);
  }

  @Override
  public @Nullable Snapshot write(WriteBatch updates, WriteOptions options) {
    if (!(updates instanceof DatabaseBatch batch)) {
      throw new IllegalArgumentException("not a batch of kvsep: " + updates);
    }
    try {
      if (options.sync()) {
        store.write(batch.writes(), Durability.sync());
      } else {
        store.write(batch.writes());
      }
      return options.snapshot() ? snapshot() : null;
    } catch (KvException e) {
      throw failure(e);
    }
  }

  @Override
  public Snapshot getSnapshot() {
    try {
      return snapshot();
    } catch (KvException e) {
      throw failure(e);
    }
  }

  private Snapshot snapshot() {
    return new DatabaseSnapshot(this, store.snapshot());
  }

  @Override
  public long[] getApproximateSizes(Range... ranges) {
    try {
      long[] sizes = new long[ranges.length];
      for (int i = 0; i < ranges.length; i++) {
        sizes[i] = store.approximateBytes(ranges[i].start(), ranges[i].limit());
      }
      return sizes;
    } catch (KvException e) {
      throw failure(e);
    }
  }

  @Override
  public void compactRange(byte @Nullable [] begin, byte @Nullable [] end) {
    try {
      store.compact();
    } catch (KvException e) {
      throw failure(e);
    }
  }

  @Override
  public void suspendCompactions() {
    throw new UnsupportedOperationException(
        "kvsep cannot suspend compactions; to copy an open database call"
            + " KvsepDBFactory.store(db).checkpoint(directory)");
  }

  @Override
  public void resumeCompactions() {
    // Often in a finally block: an exception would hide that of suspendCompactions.
  }

  @Override
  public @Nullable String getProperty(String name) {
    try {
      if (name.startsWith(FILES_AT_LEVEL)) {
        return filesAt(name.substring(FILES_AT_LEVEL.length()), store.stats().levels());
      }
      return switch (name) {
        case "leveldb.stats" -> text(store.stats());
        case "leveldb.approximate-memory-usage" ->
            Long.toString(
                store.stats().memoryBytes().values().stream().mapToLong(Long::longValue).sum());
        default -> null;
      };
    } catch (KvException e) {
      throw failure(e);
    }
  }

  private static @Nullable String filesAt(String level, List<StoreStats.Level> levels) {
    for (int i = 0; i < levels.size(); i++) {
      if (level.equals(Integer.toString(i))) {
        return Integer.toString(levels.get(i).tables());
      }
    }
    return null;
  }

  private static String text(StoreStats stats) {
    StringBuilder text = new StringBuilder("Level  Files  Size(MB)\n----------------------\n");
    for (int i = 0; i < stats.levels().size(); i++) {
      StoreStats.Level level = stats.levels().get(i);
      if (level.tables() > 0) {
        text.append(line(Integer.toString(i), level.tables(), level.bytes()));
      }
    }
    return text.append(line("log", stats.logSegments(), stats.logBytes())).toString();
  }

  private static String line(String name, int files, long bytes) {
    return String.format(Locale.ROOT, "%5s %6d %9.1f%n", name, files, bytes / 1e6);
  }

  @Override
  public void close() throws IOException {
    try {
      store.close();
    } catch (KvException e) {
      throw new IOException(e.getMessage(), e);
    }
  }
}
