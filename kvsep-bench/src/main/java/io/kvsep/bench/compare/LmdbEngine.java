package io.kvsep.bench.compare;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.GetOp;
import org.lmdbjava.Meta;
import org.lmdbjava.Txn;

/** LMDB through lmdbjava, with the buffers it has by default, which are its fastest. */
final class LmdbEngine implements Engine {
  private static final long MAP_BYTES_MIN = 64L << 30;
  private static final int KEY_BYTES_MAX = 511;
  private static final int READERS = 126;

  private final Env<ByteBuffer> env;
  private final Dbi<ByteBuffer> dbi;
  private final int valueBytesMax;
  private final String settings;

  LmdbEngine(EngineOptions options) {
    // Read once, when the library is loaded.
    if (!options.tuning().flag("lmdb.checks", true)) {
      System.setProperty("lmdbjava.disable.checks", "true");
    }
    List<EnvFlags> flags = new ArrayList<>();
    if (options.durability() != SyncMode.SYNC) {
      flags.add(EnvFlags.MDB_NOSYNC);
    }
    if (!options.tuning().flag("lmdb.read_ahead", true)) {
      flags.add(EnvFlags.MDB_NORDAHEAD);
    }
    if (options.tuning().flag("lmdb.write_map", false)) {
      flags.add(EnvFlags.MDB_WRITEMAP);
    }
    long mapBytes = Math.max(MAP_BYTES_MIN, 8 * options.rawBytes());
    env =
        Env.create()
            .setMapSize(mapBytes)
            .setMaxReaders(READERS)
            .open(options.directory().toFile(), flags.toArray(new EnvFlags[0]));
    // The unnamed database: one tree less to change in every transaction.
    dbi = env.openDbi((byte[]) null, DbiFlags.MDB_CREATE);
    valueBytesMax = options.valueBytesMax();
    String synced = options.durability() == SyncMode.SYNC ? "" : ",mdb_nosync";
    settings = options.settings("map_gib=" + (mapBytes >> 30) + ",max_readers=" + READERS + synced);
  }

  @Override
  public String version() {
    Meta.Version library = Meta.version();
    return library.major
        + "."
        + library.minor
        + "."
        + library.patch
        + "/lmdbjava-"
        + Versions.of("lmdb");
  }

  @Override
  public String settings() {
    return settings;
  }

  @Override
  public Writer writer() {
    return new TxnWriter();
  }

  @Override
  public Reader reader(boolean changing) {
    return new TxnReader(changing);
  }

  @Override
  public void sync() {
    env.sync(true);
  }

  @Override
  public boolean hasViews() {
    return true;
  }

  @Override
  public void close() {
    env.close();
  }

  private static ByteBuffer into(ByteBuffer buffer, byte[] bytes) {
    return buffer.clear().put(bytes).flip();
  }

  private final class TxnWriter implements Writer {
    private final ByteBuffer keyBuffer = ByteBuffer.allocateDirect(KEY_BYTES_MAX);
    private @Nullable Txn<ByteBuffer> txn;

    @Override
    public void add(byte[] key, byte[] value) {
      if (txn == null) {
        txn = env.txnWrite();
      }
      dbi.reserve(txn, into(keyBuffer, key), value.length).put(value);
    }

    @Override
    public void commit() {
      if (txn != null) {
        txn.commit();
        txn.close();
        txn = null;
      }
    }

    @Override
    public void close() {
      if (txn != null) {
        txn.close();
      }
    }
  }

  private final class TxnReader extends Reader {
    private final ByteBuffer keyBuffer = ByteBuffer.allocateDirect(KEY_BYTES_MAX);
    private final Txn<ByteBuffer> txn = env.txnRead();
    private final byte[] own = new byte[valueBytesMax];
    private final boolean changing;

    TxnReader(boolean changing) {
      this.changing = changing;
    }

    private void renew() {
      if (changing) {
        txn.reset();
        txn.renew();
      }
    }

    private @Nullable ByteBuffer find(byte[] key) {
      renew();
      return dbi.get(txn, into(keyBuffer, key));
    }

    @Override
    boolean get(byte[] key) {
      ByteBuffer view = find(key);
      if (view == null) {
        return false;
      }
      bytes = new byte[view.remaining()];
      length = Copy.of(view, bytes);
      return true;
    }

    @Override
    boolean getReused(byte[] key) {
      bytes = own;
      ByteBuffer view = find(key);
      if (view == null) {
        return false;
      }
      length = Copy.of(view, own);
      return true;
    }

    @Override
    boolean check(byte[] key, ViewCheck check) {
      ByteBuffer view = find(key);
      return view != null && check.apply(view);
    }

    @Override
    Cursor cursor(byte @Nullable [] from, boolean keysOnly) {
      renew();
      org.lmdbjava.Cursor<ByteBuffer> cursor = dbi.openCursor(txn);
      return new Cursor() {
        private boolean started;

        @Override
        public boolean next() {
          if (started) {
            return cursor.next();
          }
          started = true;
          return from == null
              ? cursor.first()
              : cursor.get(into(keyBuffer, from), GetOp.MDB_SET_RANGE);
        }

        @Override
        public int key(byte[] target) {
          return Copy.of(cursor.key(), target);
        }

        @Override
        public int value(byte[] target) {
          return Copy.of(cursor.val(), target);
        }

        @Override
        public void close() {
          cursor.close();
        }
      };
    }

    @Override
    public void close() {
      txn.close();
    }
  }
}
