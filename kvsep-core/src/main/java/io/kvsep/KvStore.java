package io.kvsep;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreLockedException;
import java.nio.file.Path;
import java.util.List;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * An ordered key-value store in one directory. Thread safe; one open store per directory.
 *
 * <pre>{@code
 * try (KvStore store = KvStore.open(Path.of("data"))) {
 *   store.put(key, value);
 *   byte[] copy = store.get(key);
 *   try (KvCursor cursor = store.cursor(ScanOptions.prefix(prefix))) {
 *     while (cursor.next()) {
 *       use(cursor.key(), cursor.value());
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p>After any crash the store holds a prefix of the commit order that includes everything
 * acknowledged as synced.
 */
public interface KvStore extends KvReader, KvWriter, AutoCloseable {
  /** Opens or creates the store in {@code directory} with {@link KvOptions#defaults()}. */
  static KvStore open(Path directory) {
    return open(directory, KvOptions.defaults());
  }

  /**
   * Opens the store in {@code directory}, recovering what a crash left behind.
   *
   * @throws StoreLockedException when it is open already, here or in another process
   * @throws IncompatibleFormatException when the directory holds no store and may not become one,
   *     or one of another format version; nothing was touched
   * @throws CorruptionException when files are damaged; nothing was touched
   * @throws StorageException when the device refused
   */
  static KvStore open(Path directory, KvOptions options) {
    return OpenStore.open(directory, options);
  }

  /**
   * As {@link #put(byte[], byte[])}, with what lies between read position and limit of each
   * argument. Allocates nothing.
   */
  void put(BytesStore<?, ?> key, BytesStore<?, ?> value);

  /** Applies the batch: seen and recovered whole or not at all. The batch may be reused. */
  void write(WriteBatch batch);

  /** As {@link #write(WriteBatch)} with another durability for this batch only. */
  void write(WriteBatch batch, Durability durability);

  /**
   * Sets {@code key} to {@code value} if its value is {@code expected}, null meaning that it must
   * be absent; whether it did. Atomic against every other write.
   */
  boolean compareAndSet(byte[] key, byte @Nullable [] expected, byte[] value);

  /** Deletes {@code key} if its value is {@code expected}; whether it did. */
  boolean compareAndDelete(byte[] key, byte[] expected);

  /** A fixed, repeatable view of now. Close it: old versions are kept as long as it is open. */
  Snapshot snapshot();

  /**
   * The keyspace of that name, which is made if there is none; making it is durable on return. The
   * store's own methods work in a keyspace that has no name and is not one of these.
   *
   * @param name 1 to 255 bytes in UTF-8, else {@link IllegalArgumentException}
   */
  Keyspace keyspace(String name);

  /** Names of all keyspaces, in order. */
  List<String> keyspaces();

  /**
   * Removes a keyspace and everything in it, durably, in the same short time whatever is in it; the
   * space comes back as for {@link #deleteRange}. Snapshots made before go on seeing it, every
   * other use of it throws {@link IllegalStateException} from then on. A new keyspace may have the
   * same name, and is another one. After a crash in the middle of the call it is whole, empty or
   * gone. Dropping it again does nothing.
   */
  void dropKeyspace(Keyspace keyspace);

  /** Reading and writing in {@code keyspace}. */
  KvView in(Keyspace keyspace);

  /** All that was written before is on stable storage on return, whatever the durability. */
  void sync();

  /**
   * Writes the memtables out as tables; on return the log before this call is not replayed again.
   */
  void flush();

  /**
   * Flushes and merges all tables into the last level, dropping what nobody can see any more. A
   * table that is there already and of which only some entries have expired is left as it is.
   */
  void compact();

  /** Figures of now; cheap. */
  StoreStats stats();

  /**
   * Waits for running calls, flushes and syncs what is written, and gives everything back. From
   * then on every call throws {@link io.kvsep.error.StoreClosedException}; closing again does
   * nothing. Called from inside {@link KvReader#read} it is an {@link IllegalStateException}.
   */
  @Override
  void close();
}
