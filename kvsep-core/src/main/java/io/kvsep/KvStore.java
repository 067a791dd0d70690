package io.kvsep;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreLockedException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
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
 *
 * <p>A store that was opened for reading only ({@link KvOptions.Builder#readOnly}) takes no writes:
 * they throw {@link io.kvsep.error.ReadOnlyStoreException}.
 *
 * <p>However many threads call, none waits for another one's memory: what a call works with, some 2
 * KB of heap, is kept for a later one, and given back by {@link #close} alone. So a store keeps as
 * much for as many calls as ever were under way at once, and up to twice that, since there is room
 * for a power of two: 100,000 virtual threads that were all inside {@link KvReader#read} leave some
 * 250 MiB. Where that may be, a semaphore bounds it.
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
   * @throws IncompatibleFormatException when the directory holds no store, or is not there, and may
   *     not become one, or holds one of another format version; nothing was touched
   * @throws CorruptionException when files are damaged; nothing was touched
   * @throws StorageException when the device refused, or there is a store and {@link
   *     KvOptions.Builder#exclusive} forbids one
   */
  static KvStore open(Path directory, KvOptions options) {
    return OpenStore.open(directory, options);
  }

  /** As {@link #repair(Path, Path, KvOptions)} with {@link KvOptions#defaults()}. */
  static RepairReport repair(Path damaged, Path target) {
    return repair(damaged, target, KvOptions.defaults());
  }

  /**
   * Builds a new store in {@code target} of everything that can be proved of a damaged one: the
   * newest value of each key, with its expiry, in its keyspace. What cannot be is listed in the
   * report: bytes that do not hold, values that are lost with them, and keys of which a newer write
   * may be lost. An older value is never put in the place of one that is known to be lost.
   *
   * <p>It works whatever is damaged or missing. Without a manifest the tables and the log tell what
   * there is; without tables the log does, as far back as reclaim has left it. docs/guide/repair.md
   * says what is certain in which case.
   *
   * <p>What the device does not give counts as damaged: files that cannot be read as a whole are
   * copied beside the new store, as far as they can, and take that space until the call ends.
   *
   * <p>The damaged directory is only read. Its lock is taken where there is a lock file, so that no
   * store is repaired that is open for writing. The new store appears in {@code target} when it is
   * complete and durable; until then it is made beside it, in a directory of the same name with
   * {@code .repair} behind it. That is removed at the end, also when the call fails, but not when
   * the last step does, of moving the new store: it is whole in there then, as the error says. A
   * process that dies leaves it, and it has to be deleted before the next attempt. Memory is
   * bounded by the options' budget, {@link #repair} needs no more than that and the largest value;
   * it grows with the number of files, of deleted ranges and of damaged places. Keys of the log are
   * sorted on disk, which takes some of the space that the new store will have.
   *
   * @param damaged directory of the store to be repaired
   * @param target directory that is absent or empty, not in {@code damaged}, and no place where a
   *     file system is mounted; missing parents are made
   * @param options for the new store; the clock decides what has expired
   * @return what was restored, and what is lost
   * @throws StoreLockedException when the damaged store is open for writing
   * @throws CorruptionException when nothing in the directory tells of a store
   * @throws StorageException when a device refused, or {@code target} is taken; nothing is left in
   *     it
   * @throws IllegalArgumentException when one directory is in the other, whatever links lead there
   */
  static RepairReport repair(Path damaged, Path target, KvOptions options) {
    return StoreRepair.run(damaged, target, options);
  }

  /**
   * As {@link #put(byte[], byte[])}, with what lies between read position and limit of each
   * argument. Allocates nothing on the heap, unless both together are longer than a thirty-second
   * of the memory budget, 8 MiB with the default one, or other writes leave no room in it: then
   * they are copied to arrays first. 16 bytes while the thread has a cursor open or is in the
   * callback of a read, and as much for each argument that is a mapped file. Where LZ4 runs in
   * Java, as on JDK 24 and later without native access, it makes a table of 16 KiB for each value
   * that it tries to compress.
   */
  void put(BytesStore<?, ?> key, BytesStore<?, ?> value);

  /** Applies the batch: seen and recovered whole or not at all. The batch may be reused. */
  void write(WriteBatch batch);

  /**
   * As {@link #write(WriteBatch)}, but only if it need not wait: for a sync, as with {@link
   * Durability#sync()}, for background work that writers have got ahead of, for the next segment of
   * the log, or for upkeep that nobody may write beside. It may wait for writes that came before,
   * and is held up where one of these, or upkeep, begins to wait while this one is queued behind
   * it. A batch longer than a memtable, or with range deletes, may wait for a flush. For threads
   * that should not be held up, such as event loops, which leave the batch to another thread when
   * this returns false.
   *
   * @return whether the batch was written; when not, nothing has happened
   */
  boolean tryWrite(WriteBatch batch);

  /**
   * As {@link #write(WriteBatch)}, and tells which versions it gave ({@link EntryInfo#version}).
   * The {@link WriteBatch#count} writes of the batch have consecutive ones in their order, deletes
   * and ranges included; a key that comes more than once has that of its last write.
   *
   * @return the version of the last one; 0 for a batch without writes
   */
  long writeVersioned(WriteBatch batch);

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
   * Begins a transaction: optimistic, serializable. Close it or commit it; until then it keeps what
   * a snapshot keeps.
   *
   * <pre>{@code
   * try (Transaction transaction = store.begin()) {
   *   byte[] balance = transaction.get(account);
   *   transaction.put(account, changed(balance));
   *   transaction.commit(); // ConflictException: somebody else changed the account; begin again
   * }
   * }</pre>
   */
  Transaction begin();

  /**
   * Runs {@code work} in a transaction, commits it, and returns what the work returned. When the
   * commit meets a conflict, all of that is done again with a new transaction, up to 64 times, with
   * random pauses between that grow to some milliseconds. So the work may run several times, and
   * should do nothing outside the transaction that must not be repeated.
   *
   * <p>Whatever the work throws goes out and nothing is written. It may also end the transaction
   * itself; then there is nothing more to commit. A call of this inside another is a transaction of
   * its own.
   *
   * @throws io.kvsep.error.ConflictException when all tries met one; nothing was written
   */
  <R extends @Nullable Object> R transact(Function<Transaction, R> work);

  /**
   * The keyspace of that name, which is made if there is none; making it is durable on return. The
   * store's own methods work in a keyspace that has no name and is not one of these.
   *
   * @param name 1 to 255 bytes in UTF-8, else {@link IllegalArgumentException}
   * @throws io.kvsep.error.ReadOnlyStoreException when there is none, and the store was opened for
   *     reading only
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
   *
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  void dropKeyspace(Keyspace keyspace);

  /** Reading and writing in {@code keyspace}. */
  KvView in(Keyspace keyspace);

  /**
   * All that was written before is on stable storage on return, whatever the durability.
   *
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  void sync();

  /**
   * Writes the memtables out as tables; on return the log before this call is not replayed again.
   *
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  void flush();

  /**
   * Flushes and merges all tables into the last level, dropping what nobody can see any more; what
   * was there already is rewritten where something in it was replaced, was deleted or has expired.
   *
   * <p>Levels are merged one after the other. While a long one is, what writers add is compacted
   * above it, so that they need not wait, as long as there is a level above it: with the default
   * options, all levels are in use from some TB of tables on.
   *
   * <p>Damaged tables stay where they are, with what can only be merged together with them. When
   * all others are done, that is an error, also where the damage was found earlier.
   *
   * @throws CorruptionException when a table of the store is damaged
   * @throws IncompatibleFormatException when its header is
   * @throws StorageException when the device refused, such as a full disk; it may be called again
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  void compact();

  /**
   * Gives the space of overwritten, deleted and expired values back: flushes, compacts as {@link
   * #compact} does, ends the segment that is being written if something in it is dead, removes
   * files of the value log in which nothing is live, and copies what is live out of those of which
   * at least 3 % would come back. Reclaim runs by itself as well, as {@link
   * KvOptions.Builder#spaceAmplificationMax} says; this is for when as little as possible shall be
   * left, now.
   *
   * <p>Works on the calling thread and returns when it is done, which may take long: it reads and
   * writes all that is live in those files, as fast as the device allows, and needs free space for
   * one new file at a time, of about a segment's length. Other threads go on reading and writing.
   * Files that come meanwhile are left as they are, so that it returns however much others write.
   * Several calls, and reclaim in the background, wait for one another; {@link #close} waits for
   * all of them.
   *
   * <p>Snapshots and cursors stay valid and see what they saw. What a snapshot can see is live; the
   * files that an open cursor needs are replaced, but are deleted when it is closed.
   *
   * <p>A file of the value log in which something turns out to be damaged is kept as it is, with
   * everything in it that can be read; the report names it, and others are rewritten. So is a
   * damaged table, with the files to which it points. They are left alone until the store is opened
   * again.
   *
   * <p>An error leaves every entry where it was, and keeps what was finished before it.
   *
   * @return what was done
   * @throws StorageException when the device refused, such as a full disk; it may be called again
   * @throws io.kvsep.error.StoreFailedException when a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  ReclaimReport reclaim();

  /**
   * Reads and checks every byte of every file of the store, as it is at the beginning of the call:
   * CURRENT and the manifest, every block of every table, every frame and record of the value log.
   * What is said twice is compared: the order of entries, filters and indexes for every key, what
   * tables say of themselves and the manifest of them, how much of each file is live; and each
   * entry whose value is in the log has to lead to the record of its key, from which its value can
   * be unpacked.
   *
   * <p>Damage is never thrown, and what lies behind it is checked as well. Nothing is changed.
   * Writing, reading and background work go on meanwhile; files that are replaced stay on disk
   * until the call is over. Works on the calling thread and takes as long as reading all files once
   * and the values in the log once more. Memory does not grow with the number of entries: one
   * block, one key and one compressed value are held at a time.
   *
   * <p>What it cannot see: damage to memory, entries that are in no table yet (the log they came
   * from is checked), and what was lost together with everything that told of it.
   *
   * @return what was checked, and each problem with file and offset
   * @throws StorageException when the device refused
   * @throws io.kvsep.error.StoreClosedException when the store is closed, also during the call
   */
  VerifyReport verify();

  /**
   * Makes a copy of the store as it is at one moment of the call, which is a store of its own: all
   * that was committed before, and nothing that was committed after that moment. The copy is
   * durable on return.
   *
   * <p>Files that do not change any more, which are nearly all of it, are not copied but get a
   * second name (a hard link), so that it takes a moment whatever the size of the store, and no
   * space until one of the two stores drops files that the other one keeps. Where the file systems
   * cannot do that, files are copied. Neither store ever writes into a file that both have. Writing
   * and reading go on meanwhile; writers wait for as long as the log takes to go on in a new
   * segment. The copy may be opened at once, for reading only as well, beside this one.
   *
   * <p>After an error, or a crash before the return, there is nothing of that name, or all of it. A
   * process that dies may leave a directory of the name with ".partial" behind it, which can be
   * deleted.
   *
   * @param directory what is to be made; missing parents are made, too
   * @throws StorageException when there is anything of that name already, also an empty directory;
   *     or when the device refused. Nothing was changed then
   * @throws io.kvsep.error.StoreFailedException when a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  void checkpoint(Path directory);

  /**
   * Writes everything in the store, or what has changed since an earlier backup, to a stream, as
   * the store is at one moment at the beginning of the call: entries of all keyspaces with their
   * times to live, deletes, and the keyspaces themselves. Every block of it has a checksum, which
   * also covers what comes before it. Reading and writing go on meanwhile.
   *
   * <p>A backup of changes is only for a store that holds exactly what the earlier one left. Where
   * compaction has forgotten of deletes since then, it is everything instead of the changes, to be
   * restored in the same way. It reads the index of the whole store in any case, but only the
   * values that it writes.
   *
   * <p>What is in a backup is durable in the store before it is written, as by {@link #sync}. A
   * store that is open for reading only cannot see to that: back it up so only after it was closed,
   * or opened to write.
   *
   * <p>Works on the calling thread, a block at a time; memory does not grow with the values, but
   * for compressed ones, one of which is held at a time. The stream is flushed and not closed.
   *
   * @param sinceSequence what the earlier backup returned, 0 for everything
   * @return the sequence number that this backup reaches
   * @throws IllegalArgumentException when no backup of this store can have returned that number
   * @throws StorageException when the device or the stream refused; what was written is no backup
   * @throws CorruptionException when something in the store is damaged; what was written is none
   * @throws io.kvsep.error.StoreFailedException when a sync of the log failed, now or earlier. One
   *     of the manifest keeps nobody from backing up what can be read
   * @throws io.kvsep.error.StoreClosedException when the store is closed, also during the call
   */
  long backup(OutputStream output, long sinceSequence);

  /**
   * Puts a backup into this store. One of everything needs a store that was never written to. One
   * of changes needs a store that was restored up to the very number from which it goes on, and in
   * which nothing was written since and no keyspace made.
   *
   * <p>The stream is read to the end of the backup, and checked, before anything is changed: one
   * that is cut, damaged or does not fit leaves the store as it was. It is kept in a temporary file
   * until the end, so that there has to be room for it twice. Nothing behind the backup is read.
   *
   * <p>Then it is written like other writes, so that readers see one part after the other; writing
   * meanwhile is for no good, and later backups are refused then. When the call returns everything
   * is durable. Where it fails after the first change, or the process dies, the store remembers
   * that: it takes the same backup again, or one of everything that reaches the same number, which
   * completes it, and no other one. Once anything else is written to it, it takes none any more.
   *
   * <p>Memory goes by the longest value. The new store has an identity and sequence numbers of its
   * own, and backups of it are for stores that are restored from these.
   *
   * @return the sequence number of the backup's store that this store is at
   * @throws CorruptionException when the stream is cut or damaged; nothing was changed
   * @throws IncompatibleFormatException when it is no backup, or one of a later format, or does not
   *     fit this store; nothing was changed
   * @throws StorageException when the device or the stream refused
   * @throws io.kvsep.error.StoreFailedException when a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  long restore(InputStream input);

  /**
   * Puts many entries into the store at once: all of them or, whatever happens, none, durable on
   * return. Past log and memtable, so that it is several times as fast as writing batches, and what
   * is written needs no compaction soon.
   *
   * <p>Keys in ascending order (as unsigned bytes) go straight to where they stay. Others are
   * sorted first, in as much memory as half a memtable takes and on disk; that costs some speed,
   * and values of more than 16 KiB stay in the order in which they come. Of a key that comes more
   * than once the last one counts.
   *
   * <p>The entries come into force in one moment at the end of the call: they replace what was
   * written before, also during the call, and nobody sees some of them without the others. Reading
   * and writing go on meanwhile. Writers wait at the end, for what they wrote last to be flushed
   * and synced. A snapshot, cursor or transaction from before sees none of them; a transaction that
   * has read one of the keys meets a conflict. One load is at work at a time, others wait.
   *
   * <p>The calling thread asks the iterator, and not again once it has ended; another thread writes
   * meanwhile. The iterator may read and write this store, but not close it. Memory does not grow
   * with the number of entries, but by some bytes for each 32 MiB of tables and each segment of
   * values.
   *
   * @param entries what to load, {@link ExpiringEntry} where it has an end; arrays must stay as
   *     they are until the next one is asked for. What it throws ends the call, and nothing is
   *     loaded
   * @return how many entries were handed in
   * @throws io.kvsep.error.LimitExceededException when a key or value is too long, or a key empty
   * @throws StorageException when the device refused; nothing is loaded
   * @throws io.kvsep.error.StoreFailedException when a sync failed, now or earlier. Where it was
   *     that of the manifest, only the next open shows whether all is loaded or nothing
   * @throws io.kvsep.error.StoreClosedException when the store is closed, also during the call
   * @throws IllegalStateException when the store was opened for reading only, or from within the
   *     iterator of another load
   */
  long bulkLoad(Iterator<? extends Map.Entry<byte[], byte[]>> entries);

  /** As {@link #bulkLoad(Iterator)}; the stream is closed at the end. */
  default long bulkLoad(Stream<? extends Map.Entry<byte[], byte[]>> entries) {
    try (entries) {
      return bulkLoad(entries.iterator());
    }
  }

  /**
   * As {@link #bulkLoad(Iterator)}, into a keyspace.
   *
   * @throws IllegalStateException also when the keyspace is dropped, now or during the call
   */
  long bulkLoad(Keyspace keyspace, Iterator<? extends Map.Entry<byte[], byte[]>> entries);

  /**
   * The changes of the store that were committed after a moment, as the log has them.
   *
   * <p>The number of that moment is {@link Snapshot#sequence()}, what {@link #backup} returned, or
   * {@link Change#sequence()}; also of another time that the store was open, if it was durable:
   * what a power failure takes back may have its number again. That of a backup and of a change is,
   * and everything committed before the call is when it returns, as by {@link #sync}. A {@link
   * #checkpoint} has the numbers of the store it was made of.
   *
   * @param afterSequence 0 for all changes that ever were
   * @throws io.kvsep.error.ChangesLostException when the log does not have them all any more
   * @throws IllegalArgumentException when the store has not come to that number
   * @throws io.kvsep.error.StoreFailedException when a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException when the store was opened for reading only
   */
  ChangeFeed changes(long afterSequence);

  /** Figures of now; cheap: what it costs grows with the number of files. */
  StoreStats stats();

  /**
   * The files of the value log now, in the order they were begun, with how much of each is live.
   * Costs a few times as much as {@link #stats}.
   */
  List<SegmentStats> segments();

  /**
   * Waits for running calls, flushes and syncs what is written, and gives everything back. From
   * then on every call throws {@link io.kvsep.error.StoreClosedException}; closing again does
   * nothing. Called from inside {@link KvReader#read}, by the iterator of a bulk load, or by the
   * stream of a backup or restore, it is an {@link IllegalStateException}.
   *
   * <p>Nothing of a closed store keeps the class loader of kvsep. Where the program makes Chronicle
   * Bytes, a thread and a shutdown hook of Chronicle do; docs/dependencies.md tells how to end
   * them.
   *
   * @throws io.kvsep.error.StoreFailedException when the store has failed, now or earlier: what was
   *     written without a sync may not be on stable storage. It is closed all the same
   * @throws StorageException when the device refused; it is closed all the same
   */
  @Override
  void close();
}
