package io.kvsep.bench.compare;

import io.kvsep.Durability;
import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.StoreStats;
import io.kvsep.ValueCompression;
import io.kvsep.WriteBatch;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** kvsep. */
final class KvsepEngine implements Engine {
  private final KvStore store;
  private final int valueBytesMax;
  private final String settings;
  private long deviceBytes = -1;

  KvsepEngine(EngineOptions options) {
    KvOptions.Builder builder =
        KvOptions.builder()
            .memoryBudgetBytes(options.cacheBytes())
            .durability(durability(options.durability()));
    options
        .tuning()
        .text(
            "kvsep.compression",
            name ->
                builder.valueCompression(ValueCompression.valueOf(name.toUpperCase(Locale.ROOT))));
    options.tuning().flag("kvsep.verify_values", builder::verifyValues);
    store = KvStore.open(options.directory(), builder.build());
    valueBytesMax = options.valueBytesMax();
    settings = options.settings("memory_budget_mib=" + options.cacheMebibytes());
  }

  private static Durability durability(SyncMode mode) {
    return switch (mode) {
      case NONE -> Durability.none();
      case ASYNC -> Durability.async(Duration.ofSeconds(1));
      case SYNC -> Durability.sync();
    };
  }

  @Override
  public String version() {
    return Versions.of("kvsep");
  }

  @Override
  public String settings() {
    return settings;
  }

  @Override
  public Writer writer() {
    WriteBatch batch = new WriteBatch();
    return new Writer() {
      @Override
      public void add(byte[] key, byte[] value) {
        batch.put(key, value);
      }

      @Override
      public void commit() {
        store.write(batch);
        batch.clear();
      }

      @Override
      public void put(byte[] key, byte[] value) {
        store.put(key, value);
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public Reader reader(boolean changing) {
    return new StoreReader();
  }

  @Override
  public void sync() {
    store.sync();
  }

  @Override
  public boolean syncsItself() {
    return true;
  }

  @Override
  public void flush() {
    store.flush();
  }

  @Override
  public void maintain() {
    store.compact();
  }

  @Override
  public boolean isIdle() {
    StoreStats stats = store.stats();
    boolean idle =
        stats.deviceBytesWritten() == deviceBytes
            && stats.memoryBytes().getOrDefault("table_build", 0L) == 0
            && stats.memoryBytes().getOrDefault("reclaim", 0L) == 0;
    deviceBytes = stats.deviceBytesWritten();
    return idle;
  }

  @Override
  public boolean hasViews() {
    return true;
  }

  @Override
  public void close() {
    store.close();
  }

  private final class StoreReader extends Reader {
    private final byte[] own = new byte[valueBytesMax];
    private final ByteBuffer buffer = ByteBuffer.wrap(own);

    @Override
    boolean get(byte[] key) {
      byte[] value = store.get(key);
      if (value == null) {
        return false;
      }
      bytes = value;
      length = value.length;
      return true;
    }

    @Override
    boolean getReused(byte[] key) {
      bytes = own;
      length = store.get(key, buffer.clear());
      return length >= 0;
    }

    @Override
    boolean check(byte[] key, ViewCheck check) {
      return store.read(key, check) != null;
    }

    @Override
    Cursor cursor(byte @Nullable [] from, boolean keysOnly) {
      ScanOptions range = ScanOptions.range(from, null);
      KvCursor cursor = store.cursor(keysOnly ? range.keysOnly() : range);
      return new Cursor() {
        @Override
        public boolean next() {
          return cursor.next();
        }

        @Override
        public int key(byte[] target) {
          return Copy.of(cursor.keyView(), target);
        }

        @Override
        public int value(byte[] target) {
          return Copy.of(cursor.valueView(), target);
        }

        @Override
        public void close() {
          cursor.close();
        }
      };
    }

    @Override
    public void close() {}
  }
}
