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
 * The sixteen databases of a store: 0 is its own keyspace, n the keyspace named {@code db} and n,
 * which is made when the database is used for the first time; one that a store for reading only
 * lacks is empty to those who read. Thread safe.
 */
final class Databases {
  /** No key is greater. */
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

  /** The store's present. */
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

  /** Tells the length of each value that is about to be written. */
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

  /** For reading. */
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

  /** One in which there is nothing. */
  Entries nothing() {
    return nothing;
  }

  /** Whether there was ever anything in the database. */
  boolean exists(int database) {
    return database == 0
        || keyspaces.get(database) != null
        || store.keyspaces().contains(name(database));
  }

  /** Whether the database is at hand: another one is looked for, and made, when it is used. */
  boolean isKnown(int database) {
    return database == 0 || keyspaces.get(database) != null;
  }

  /** Looks all keyspaces up anew: one may have been dropped. */
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
