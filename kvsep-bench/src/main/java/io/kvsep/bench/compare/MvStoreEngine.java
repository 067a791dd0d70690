package io.kvsep.bench.compare;

import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.type.ByteArrayDataType;
import org.jspecify.annotations.Nullable;

/** MVStore of H2: a B-tree with its own pages on the heap, written in chunks. */
final class MvStoreEngine implements Engine {
  /** Without a limit it may rewrite the same chunks for minutes. */
  private static final int COMPACT_MILLIS_MAX = 60_000;

  private final MVStore store;
  private final MVMap<byte[], byte[]> map;
  private final boolean synced;
  private final int valueBytesMax;
  private final String settings;

  MvStoreEngine(EngineOptions options) {
    MVStore.Builder builder =
        new MVStore.Builder()
            .fileName(options.directory().resolve("entries.mv").toString())
            .cacheSize(Math.toIntExact(options.cacheMebibytes()));
    options.tuning().number("mvstore.page", bytes -> builder.pageSplitSize((int) bytes));
    store = builder.open();
    options.tuning().number("mvstore.retention", millis -> store.setRetentionTime((int) millis));
    map =
        store.openMap(
            "entries",
            new MVMap.Builder<byte[], byte[]>()
                .keyType(ByteArrayDataType.INSTANCE)
                .valueType(ByteArrayDataType.INSTANCE));
    synced = options.durability() == SyncMode.SYNC;
    valueBytesMax = options.valueBytesMax();
    settings = options.settings("cache_mib=" + options.cacheMebibytes());
  }

  @Override
  public String version() {
    return Versions.of("mvstore");
  }

  @Override
  public String settings() {
    return settings;
  }

  @Override
  public Writer writer() {
    return new Writer() {
      @Override
      public void add(byte[] key, byte[] value) {
        // The map keeps the arrays.
        map.put(key.clone(), value.clone());
      }

      @Override
      public void commit() {
        store.commit();
        if (synced) {
          store.sync();
        }
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public Reader reader(boolean changing) {
    return new MapReader();
  }

  @Override
  public void sync() {
    store.sync();
  }

  @Override
  public void maintain() {
    store.compactFile(COMPACT_MILLIS_MAX);
  }

  @Override
  public void close() {
    store.close();
  }

  private final class MapReader extends Reader {
    private final byte[] own = new byte[valueBytesMax];

    /** The array is the map's, which hands it out to all. */
    @Override
    boolean get(byte[] key) {
      byte[] value = map.get(key);
      if (value == null) {
        return false;
      }
      bytes = value;
      length = value.length;
      return true;
    }

    @Override
    boolean getReused(byte[] key) {
      byte[] value = map.get(key);
      if (value == null) {
        return false;
      }
      bytes = own;
      length = Copy.of(value, value.length, own);
      return true;
    }

    @Override
    Cursor cursor(byte @Nullable [] from, boolean keysOnly) {
      org.h2.mvstore.Cursor<byte[], byte[]> cursor = map.cursor(from);
      return new Cursor() {
        private byte[] key = new byte[0];

        @Override
        public boolean next() {
          if (!cursor.hasNext()) {
            return false;
          }
          key = cursor.next();
          return true;
        }

        @Override
        public int key(byte[] target) {
          return Copy.of(key, key.length, target);
        }

        @Override
        public int value(byte[] target) {
          byte[] value = cursor.getValue();
          return Copy.of(value, value.length, target);
        }

        @Override
        public void close() {}
      };
    }

    @Override
    public void close() {}
  }
}
