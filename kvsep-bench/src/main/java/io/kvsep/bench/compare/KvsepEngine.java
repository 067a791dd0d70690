package io.kvsep.bench.compare;

import io.kvsep.Durability;
import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.StoreStats;
import io.kvsep.ValueCompression;
import io.kvsep.WriteBatch;
import io.kvsep.bench.UsageException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/** kvsep, with or without verification of value checksums on reads. */
final class KvsepEngine implements Engine {
  private final KvStore store;
  private final String get;
  private final int valueBytesMax;
  private final String settings;
  private long deviceBytes = -1;

  KvsepEngine(EngineOptions options, boolean verifyValues) {
    String compression = options.tuning().text("kvsep.compression", "none");
    KvOptions opened =
        KvOptions.builder()
            .memoryBudgetBytes(options.cacheBytes())
            .durability(durability(options.durability()))
            .valueCompression(
                compression.equals("lz4") ? ValueCompression.LZ4 : ValueCompression.NONE)
            .verifyValues(verifyValues)
            .build();
    store = KvStore.open(options.directory(), opened);
    get = options.tuning().text("kvsep.get", verifyValues ? "read" : "bytes");
    if (!List.of("read", "bytes", "array").contains(get)) {
      throw new UsageException("kvsep.get must be read, bytes or array: " + get);
    }
    valueBytesMax = options.valueBytesMax();
    settings =
        "memory_mib="
            + (options.cacheBytes() >> 20)
            + ",compression="
            + compression
            + ",verify_values="
            + verifyValues
            + ",get="
            + get
            + ",durability="
            + options.durability().word;
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
    private @Nullable Bytes<?> keyBytes;
    private @Nullable Bytes<?> target;

    @Override
    boolean get(byte[] key) {
      return switch (get) {
        case "array" -> {
          byte[] value = store.get(key);
          if (value != null) {
            bytes = value;
            length = value.length;
          }
          yield value != null;
        }
        case "bytes" -> {
          bytes = own;
          length = (int) store.get(key(key), target());
          yield length >= 0;
        }
        default -> {
          bytes = own;
          yield store.read(key, this::copyOut) != null;
        }
      };
    }

    /** Created on first use, because it belongs to the thread that uses it. */
    private Bytes<?> key(byte[] key) {
      if (keyBytes == null) {
        keyBytes = Bytes.allocateElasticOnHeap(key.length);
      }
      return keyBytes.clear().write(key);
    }

    private Bytes<?> target() {
      if (target == null) {
        target = Bytes.wrapForWrite(own);
      }
      return target.clear();
    }

    private Boolean copyOut(ByteBuffer view) {
      length = Copy.of(view, own);
      return Boolean.TRUE;
    }

    @Override
    boolean check(byte[] key, ViewCheck check) {
      return store.read(key, check) != null;
    }

    @Override
    Cursor cursor(boolean keysOnly) {
      KvCursor cursor = store.cursor(keysOnly ? ScanOptions.all().keysOnly() : ScanOptions.all());
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
