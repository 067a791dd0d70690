package io.kvsep.server.redis;

import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.error.ReadOnlyStoreException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The sixteen databases of a store. Database 0 is the store's own keyspace, database n the keyspace
 * named {@code db} and n, which is created on first use. If a read-only store lacks it, reads find
 * it empty. Thread safe.
 */
final class Databases {
  /** The greatest key. */
  static final byte[] LAST_KEY = lastKey();

  private final KvStore store;
  private final AtomicReferenceArray<@Nullable Keyspace> keyspaces =
      new AtomicReferenceArray<>(Entries.DATABASES);
  private final Entries own;
  private final Entries nothing;

  Databases(KvStore store) {
    this.store = store;
    this.own = new ViewEntries(store, store);
    this.nothing = new NoEntries(store);
  }

  static String name(int database) {
    return "db" + database;
  }

  /** The databases in the current state of the store. */
  Entries.Spaces present() {
    return database -> {
      if (database == 0) {
        return own;
      }
      return in(
          database,
          keyspace -> {
            KvView view = store.in(keyspace);
            return new ViewEntries(view, view);
          });
    };
  }

  /**
   * The databases in a transaction; {@code written} gets the length of each value before it is
   * written.
   */
  Entries.Spaces in(Transaction transaction, IntConsumer written) {
    return database -> {
      if (database == 0) {
        return new ViewEntries(transaction, transaction, written);
      }
      return in(
          database,
          keyspace -> {
            KvView view = transaction.in(keyspace);
            return new ViewEntries(view, view, written);
          });
    };
  }

  /** The databases in a snapshot, for reading. */
  Entries.Spaces in(Snapshot snapshot) {
    return database ->
        database == 0
            ? new ViewEntries(snapshot, store)
            : in(database, keyspace -> new ViewEntries(snapshot.in(keyspace), store));
  }

  Entries.Spaces in(WriteBatch batch) {
    Entries first = new BatchEntries(batch, null);
    return database -> database == 0 ? first : new BatchEntries(batch, keyspace(database));
  }

  Entries nothing() {
    return nothing;
  }

  /** Whether the database has a keyspace. */
  boolean exists(int database) {
    return database == 0
        || keyspaces.get(database) != null
        || store.keyspaces().contains(name(database));
  }

  /** Whether the keyspace is cached; if not, its first use looks it up or creates it. */
  boolean isKnown(int database) {
    return database == 0 || keyspaces.get(database) != null;
  }

  /** Drops the cached keyspaces, because one of them may have been dropped. */
  void forget() {
    for (int i = 0; i < keyspaces.length(); i++) {
      keyspaces.set(i, null);
    }
  }

  private Entries in(int database, Function<Keyspace, Entries> there) {
    Keyspace keyspace;
    try {
      keyspace = keyspace(database);
    } catch (ReadOnlyStoreException e) {
      return nothing;
    }
    return there.apply(keyspace);
  }

  private Keyspace keyspace(int database) {
    Keyspace known = keyspaces.get(database);
    if (known == null) {
      known = store.keyspace(name(database));
      keyspaces.set(database, known);
    }
    return known;
  }

  private static byte[] lastKey() {
    byte[] key = new byte[Keys.BYTES_MAX];
    Arrays.fill(key, (byte) 0xff);
    return key;
  }
}
