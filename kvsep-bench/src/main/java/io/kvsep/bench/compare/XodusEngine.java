package io.kvsep.bench.compare;

import java.util.Objects;
import jetbrains.exodus.ArrayByteIterable;
import jetbrains.exodus.ByteIterable;
import jetbrains.exodus.env.Environment;
import jetbrains.exodus.env.EnvironmentConfig;
import jetbrains.exodus.env.Environments;
import jetbrains.exodus.env.Store;
import jetbrains.exodus.env.StoreConfig;
import jetbrains.exodus.env.Transaction;
import org.jspecify.annotations.Nullable;

/** Xodus: a tree that is appended to a log. */
final class XodusEngine implements Engine {
  private static final long SYNC_MILLIS = 1000;

  private final Environment environment;
  private final Store store;
  private final int valueBytesMax;
  private final String settings;

  XodusEngine(EngineOptions options) {
    EnvironmentConfig config = new EnvironmentConfig().setMemoryUsage(options.cacheBytes());
    String synced =
        switch (options.durability()) {
          case NONE -> "";
          case ASYNC -> {
            config.setLogSyncPeriod(SYNC_MILLIS);
            yield ",sync_ms=" + SYNC_MILLIS;
          }
          case SYNC -> {
            config.setLogDurableWrite(true);
            yield ",durable_write";
          }
        };
    Tuning tuning = options.tuning();
    tuning.flag("xodus.cache_shared", config::setLogCacheShared);
    tuning.flag("xodus.jmx", config::setManagementEnabled);
    environment = Environments.newInstance(options.directory().toFile(), config);
    StoreConfig storeConfig =
        tuning.flag("xodus.prefixing", false)
            ? StoreConfig.WITHOUT_DUPLICATES_WITH_PREFIXING
            : StoreConfig.WITHOUT_DUPLICATES;
    store =
        environment.computeInTransaction(
            transaction -> environment.openStore("entries", storeConfig, transaction));
    valueBytesMax = options.valueBytesMax();
    settings = options.settings("memory_mib=" + options.cacheMebibytes() + synced);
  }

  @Override
  public String version() {
    return Versions.of("xodus");
  }

  @Override
  public String settings() {
    return settings;
  }

  @Override
  public Writer writer() {
    return new TransactionWriter();
  }

  @Override
  public Reader reader(boolean changing) {
    return new TransactionReader(changing);
  }

  @Override
  public void sync() {
    ((jetbrains.exodus.env.EnvironmentImpl) environment).getLog().sync();
  }

  @Override
  public void maintain() {
    environment.gc();
    ((jetbrains.exodus.env.EnvironmentImpl) environment).getGC().waitForPendingGC();
  }

  @Override
  public boolean syncsItself() {
    return true;
  }

  @Override
  public void close() {
    environment.close();
  }

  private final class TransactionWriter implements Writer {
    private @Nullable Transaction transaction;

    @Override
    public void add(byte[] key, byte[] value) {
      if (transaction == null) {
        transaction = environment.beginExclusiveTransaction();
      }
      // The tree keeps the arrays until the commit.
      store.put(
          transaction, new ArrayByteIterable(key.clone()), new ArrayByteIterable(value.clone()));
    }

    @Override
    public void commit() {
      if (transaction != null) {
        if (!transaction.commit()) {
          throw new IllegalStateException("a transaction was not committed");
        }
        transaction = null;
      }
    }

    @Override
    public void put(byte[] key, byte[] value) {
      ByteIterable keyBytes = new ArrayByteIterable(key.clone());
      ByteIterable valueBytes = new ArrayByteIterable(value.clone());
      environment.executeInTransaction(mine -> store.put(mine, keyBytes, valueBytes));
    }

    @Override
    public void close() {
      if (transaction != null) {
        transaction.abort();
      }
    }
  }

  private static int copy(ByteIterable source, byte[] target) {
    return Copy.of(source.getBytesUnsafe(), source.getLength(), target);
  }

  private final class TransactionReader extends Reader {
    private final byte[] own = new byte[valueBytesMax];
    private final boolean changing;
    private Transaction transaction = environment.beginReadonlyTransaction();

    TransactionReader(boolean changing) {
      this.changing = changing;
    }

    private void renew() {
      if (changing) {
        transaction.abort();
        transaction = environment.beginReadonlyTransaction();
      }
    }

    private @Nullable ByteIterable find(byte[] key) {
      renew();
      return store.get(transaction, new ArrayByteIterable(key));
    }

    @Override
    boolean getReused(byte[] key) {
      ByteIterable value = find(key);
      if (value == null) {
        return false;
      }
      bytes = own;
      length = copy(value, own);
      return true;
    }

    @Override
    boolean get(byte[] key) {
      ByteIterable value = find(key);
      if (value == null) {
        return false;
      }
      // A new array, except for iterables that wrap one.
      bytes = value.getBytesUnsafe();
      length = value.getLength();
      return true;
    }

    @Override
    Cursor cursor(byte @Nullable [] from, boolean keysOnly) {
      renew();
      jetbrains.exodus.env.Cursor cursor = Objects.requireNonNull(store.openCursor(transaction));
      return new Cursor() {
        private boolean started = from == null;

        @Override
        public boolean next() {
          if (started || from == null) {
            return cursor.getNext();
          }
          started = true;
          return cursor.getSearchKeyRange(new ArrayByteIterable(from)) != null;
        }

        @Override
        public int key(byte[] target) {
          return copy(cursor.getKey(), target);
        }

        @Override
        public int value(byte[] target) {
          return copy(cursor.getValue(), target);
        }

        @Override
        public void close() {
          cursor.close();
        }
      };
    }

    @Override
    public void close() {
      transaction.abort();
    }
  }
}
