package io.kvsep;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.error.StoreNotFoundException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * An ordered key-value store in one directory. Thread safe. A directory can be open only once.
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
 * <p>After a crash the store holds a prefix of the commit order that includes every write
 * acknowledged as synced.
 *
 * <p>As a {@link KeyspaceView} the store is that of its own keyspace, which has no name.
 *
 * <p>A store opened with {@link KvOptions.Builder#readOnly} rejects writes with {@link
 * io.kvsep.error.ReadOnlyStoreException}.
 *
 * <p>Every concurrent call uses its own working memory of about 2 KB of heap, so calls do not wait
 * for each other's. It is reused by later calls and freed only by {@link #close}. A store thus
 * keeps as much as its highest number of concurrent calls needed, rounded up to a power of two:
 * 100,000 virtual threads inside {@link KvReader#read} at the same time leave about 250 MiB. Use a
 * semaphore to bound the number of concurrent calls if needed.
 */
public interface KvStore extends KeyspaceView, AutoCloseable {
  /**
   * Opens or creates the store in {@code directory} with {@link KvOptions#defaults()}.
   *
   * @param directory the directory of the store
   * @return the open store
   */
  static KvStore open(Path directory) {
    return open(directory, KvOptions.defaults());
  }

  /**
   * Opens or creates the store in {@code directory} and recovers it after a crash.
   *
   * @param directory the directory of the store
   * @param options the options
   * @return the open store
   * @throws StoreLockedException if it is already open, in this or another process
   * @throws StoreNotFoundException if the directory is missing or holds no store, and {@link
   *     KvOptions.Builder#createIfMissing} is false or {@link KvOptions.Builder#readOnly} is set
   * @throws IncompatibleFormatException if the directory holds a store of another format version or
   *     files that are not a store's; nothing was changed
   * @throws CorruptionException if files are damaged; nothing was changed
   * @throws StorageException if a device operation failed, or the store exists and {@link
   *     KvOptions.Builder#exclusive} forbids that
   */
  static KvStore open(Path directory, KvOptions options) {
    return OpenStore.open(directory, options);
  }

  /**
   * As {@link #inMemory(KvOptions)} with {@link KvOptions#defaults()}.
   *
   * @return the open store, which is empty
   */
  static KvStore inMemory() {
    return inMemory(KvOptions.defaults());
  }

  /**
   * Opens an empty store that keeps its files in memory: the same engine with the same behaviour,
   * nothing on disk, and all of it gone with {@link #close}. For tests, and for data that may be
   * lost with the process. Every such store is its own.
   *
   * <p>The files take direct memory of the JVM beside the memory budget of the options, together at
   * most what {@code -XX:MaxDirectMemorySize} allows, by default as much as the maximum heap. If
   * that is used up, writes fail with {@link StorageException} like those on a full disk, until
   * space is freed; reads continue. Deletes and overwrites free memory as on disk: by compaction
   * and reclaim, and then by the garbage collector. Nothing needs a sync: every {@link Durability}
   * keeps everything as long as the process lives. {@link #checkpoint} copies the store into a
   * directory on disk, which can be opened.
   *
   * @param options the options
   * @return the open store
   * @throws StoreNotFoundException if the options do not allow to create a store
   */
  static KvStore inMemory(KvOptions options) {
    return OpenStore.inMemory(options);
  }

  /**
   * Copies a store that is not open for writing into a new directory. The copy is an independent
   * store and durable on return. Nothing in {@code closedStore} is written or created, so it may be
   * on a read-only file system; a copy of a store that crashed is recovered when it is opened.
   *
   * <p>Immutable files, which are nearly all, are hard-linked, so the call is short for any size of
   * store and uses no space until one of the stores deletes files that the other keeps. They are
   * copied if the file systems do not support hard links. Neither store writes to a shared file.
   *
   * <p>After an error or a crash during the call, {@code target} is either absent or complete. If
   * the process dies, a directory with the suffix ".partial" may remain, which can be deleted.
   *
   * @param closedStore directory of the store; it may be open read-only
   * @param target the directory to create, not inside {@code closedStore}; missing parents are
   *     created too
   * @throws StoreLockedException if the store is open for writing
   * @throws StoreNotFoundException if {@code closedStore} holds no store
   * @throws IncompatibleFormatException if it holds a store of another format version
   * @throws CorruptionException if its manifest is damaged
   * @throws StorageException if {@code target} exists, even empty, or if a device operation failed
   * @throws IllegalArgumentException if {@code target} is inside {@code closedStore}, links
   *     resolved
   */
  static void copy(Path closedStore, Path target) {
    StoreCopy.run(closedStore, target);
  }

  /**
   * As {@link #repair(Path, Path, KvOptions)} with {@link KvOptions#defaults()}.
   *
   * @param damaged directory of the damaged store
   * @param target directory of the new store
   * @return what was restored and what is lost
   */
  static RepairReport repair(Path damaged, Path target) {
    return repair(damaged, target, KvOptions.defaults());
  }

  /**
   * Builds a new store in {@code target} from everything in a damaged store that can be verified:
   * the newest value of each key, with its expiry and keyspace. The report lists what is lost:
   * damaged bytes, values lost with them, and keys whose newer write may be lost. An older value
   * never replaces one that is known to be lost.
   *
   * <p>Works whatever is damaged or missing. Without a manifest the content is derived from tables
   * and log; without tables, from the log as far back as reclaim has kept it. docs/guide/repair.md
   * says what is certain in each case.
   *
   * <p>Unreadable bytes count as damaged. Files that cannot be read completely are copied next to
   * the new store as far as they are readable, and use that space until the call ends.
   *
   * <p>The damaged directory is only read. Its lock file, if present, is locked, so a store that is
   * open for writing cannot be repaired. The new store is built in a sibling directory of {@code
   * target} with the suffix {@code .repair} and moved to {@code target} when it is complete and
   * durable. The sibling is deleted at the end, also on failure, with one exception: if the final
   * move fails, it holds the complete store, as the error says. If the process dies, the sibling
   * remains and must be deleted before the next attempt. Memory is bounded by the options' budget
   * plus the largest value, and grows with the number of files, range deletes and damaged places.
   * Keys of the log are sorted on disk, which takes a part of the space of the new store.
   *
   * @param damaged directory of the store to repair
   * @param target directory that is absent or empty, not inside {@code damaged} and not a mount
   *     point; missing parents are created
   * @param options for the new store; the clock decides what has expired
   * @return what was restored and what is lost
   * @throws StoreLockedException if the damaged store is open for writing
   * @throws CorruptionException if the directory contains no trace of a store
   * @throws IncompatibleFormatException if a later release wrote CURRENT or the manifest
   * @throws StorageException if a device operation failed or {@code target} is in use; nothing is
   *     left in {@code target}
   * @throws IllegalArgumentException if one directory is inside the other, links resolved
   */
  static RepairReport repair(Path damaged, Path target, KvOptions options) {
    return StoreRepair.run(damaged, target, options);
  }

  /**
   * As {@link #put(byte[], byte[])}, with the content between read position and limit of each
   * argument. Allocates no heap memory, with these exceptions: both arguments are copied to arrays
   * if they are together longer than a thirty-second of the memory budget (8 MiB by default) or
   * other writes use that memory; 16 bytes are allocated if the thread has a cursor open or is in a
   * read callback, and 16 for each argument in a mapped file; and the Java implementation of LZ4,
   * used for example on JDK 24 and later without native access, allocates a table of 16 KiB per
   * value that it tries to compress.
   *
   * @param key the key
   * @param value the value
   */
  void put(BytesStore<?, ?> key, BytesStore<?, ?> value);

  /**
   * Applies the batch atomically: readers and recovery see all of it or nothing. The batch may be
   * reused.
   *
   * @param batch the writes
   */
  void write(WriteBatch batch);

  /**
   * As {@link #write(WriteBatch)}, but only if the call need not wait for a sync (as with {@link
   * Durability#sync()}), for background work that writers have overtaken, for the next log segment,
   * or for maintenance that excludes writers. The call may still wait for writes queued before it,
   * including when one of them or maintenance starts to wait meanwhile. A batch longer than a
   * memtable or with range deletes may wait for a flush. For threads that must not block, such as
   * event loops, which pass the batch to another thread if this returns false.
   *
   * @param batch the writes
   * @return whether the batch was written; if false, nothing has changed
   */
  boolean tryWrite(WriteBatch batch);

  /**
   * As {@link #write(WriteBatch)}, and returns the assigned versions ({@link EntryInfo#version}).
   * The {@link WriteBatch#count} writes of the batch, including deletes and range deletes, have
   * consecutive versions in batch order; a key written more than once has the version of its last
   * write.
   *
   * @param batch the writes
   * @return the version of the last write; 0 for an empty batch
   */
  long writeVersioned(WriteBatch batch);

  /**
   * As {@link #write(WriteBatch)}, with another durability for this batch only.
   *
   * @param batch the writes
   * @param durability what the write survives
   */
  void write(WriteBatch batch, Durability durability);

  /**
   * {@return a consistent view of the current state} Close it: old versions are kept while it is
   * open.
   */
  Snapshot snapshot();

  /**
   * Begins an optimistic, serializable transaction. Close or commit it; until then it keeps old
   * versions like a snapshot.
   *
   * <pre>{@code
   * try (Transaction transaction = store.begin()) {
   *   byte[] balance = transaction.get(account);
   *   transaction.put(account, changed(balance));
   *   transaction.commit(); // ConflictException: the account was changed concurrently; retry
   * }
   * }</pre>
   *
   * @return the transaction
   */
  Transaction begin();

  /**
   * Runs {@code work} in a transaction, commits it and returns the result of {@code work}. After a
   * conflict all of this is retried in a new transaction, up to 64 attempts in total, with random
   * pauses that grow to some milliseconds. {@code work} may run more than once; it must be free of
   * side effects outside the transaction.
   *
   * <p>If {@code work} throws, nothing is written and the exception propagates. {@code work} may
   * end the transaction itself; then there is nothing left to commit. A nested call is an
   * independent transaction.
   *
   * @param <R> type of the result
   * @param work runs in the transaction
   * @return the result of {@code work}
   * @throws io.kvsep.error.ConflictException if every attempt met a conflict; nothing was written
   */
  <R extends @Nullable Object> R transact(Function<Transaction, R> work);

  /**
   * Begins an empty buffer of uncommitted writes that can be read back. Close it; it may be
   * committed any number of times before.
   *
   * @return the buffer
   */
  WriteBuffer buffer();

  /**
   * Returns the keyspace with this name; creates it, durably, if it does not exist. The store's own
   * methods use a separate keyspace without a name.
   *
   * @param name 1 to 255 bytes in UTF-8, else {@link IllegalArgumentException}
   * @return the keyspace
   * @throws io.kvsep.error.ReadOnlyStoreException if it does not exist and the store is read-only
   */
  Keyspace keyspace(String name);

  /**
   * Returns the keyspaces with these names, in this order; creates those that do not exist, all of
   * them with one durable change: after a crash during the call all of them exist or none. For a
   * thousand new keyspaces this is about as fast as for one.
   *
   * @param names as for {@link #keyspace}; a name may occur more than once
   * @return the keyspaces
   * @throws io.kvsep.error.ReadOnlyStoreException if one does not exist and the store is read-only
   */
  List<Keyspace> keyspaces(Collection<String> names);

  /** {@return names of all keyspaces, sorted} */
  List<String> keyspaces();

  /**
   * Removes a keyspace with all its entries, durably. The time does not depend on its content; the
   * space is freed as for {@link #deleteRange}. Existing snapshots still see the keyspace; every
   * other use of it throws {@link IllegalStateException}. A new keyspace of the same name is a
   * different keyspace. After a crash during the call the keyspace is unchanged, empty or gone.
   * Dropping it again has no effect.
   *
   * @param keyspace the keyspace to remove
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  void dropKeyspace(Keyspace keyspace);

  /**
   * {@return a view for reading and writing {@code keyspace}}
   *
   * @param keyspace the keyspace
   */
  KeyspaceView in(Keyspace keyspace);

  /**
   * Makes all earlier writes durable before returning, whatever their durability.
   *
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  void sync();

  /**
   * Writes the memtables out as tables. After it returns, recovery does not replay the log written
   * before this call.
   *
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  void flush();

  /**
   * Flushes and merges all tables into the last level and drops what no reader can see. Tables
   * already in the last level are rewritten if they contain replaced, deleted or expired entries.
   *
   * <p>Then puts values in key order, so that scans read them one after the other: value-log files
   * whose values lie out of order are rewritten, and the tables that point to them. The first call
   * after a load in random order thus reads and writes all values once, at device speed; a second
   * call finds them in order and writes nothing. Values of 32 KiB and more, files already in order,
   * and changes that an open feed has not read stay where they are. A feed opened later cannot read
   * the changes in rewritten files, unless {@link KvOptions.Builder#changeRetentionBytes} keeps
   * them. Needs free space for one new file at a time, by default up to a quarter of the live
   * values or a segment, and for all moved values while an open cursor keeps the old files.
   *
   * <p>Levels are merged one after the other, in steps between which other compactions run, so that
   * writers need not wait. Entries written during the call may stay in the levels above. During a
   * long step, new writes are compacted in a level above it. That requires a level above: with the
   * default options all levels are in use from some TB of tables on.
   *
   * <p>Damaged and unreadable tables stay in place until the store is reopened, together with
   * tables that can only be merged with them. All other tables are compacted first; then the
   * problem is thrown, even if it had been found earlier.
   *
   * @throws CorruptionException if a table of the store is damaged
   * @throws IncompatibleFormatException if the header of a table is damaged
   * @throws StorageException if a device operation failed, such as on a full disk; the call may be
   *     repeated. Also if the device could not read a table
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  void compact();

  /**
   * Frees the space of overwritten, deleted and expired values: flushes, merges tables like {@link
   * #compact}, ends the active segment if it contains garbage, removes value-log files without live
   * data, and rewrites those where at least 3 % would be freed. Reclaim also runs in the
   * background, as {@link KvOptions.Builder#spaceAmplificationMax} says; use this method to
   * minimize garbage now.
   *
   * <p>Runs on the calling thread and may take long: it reads and writes all live data of those
   * files at device speed, and needs free space for one new file at a time, about as long as a
   * segment. Reads and writes continue. Files created meanwhile are not processed, so the call ends
   * however much other threads write. Concurrent calls and background reclaim wait for each other;
   * {@link #close} waits for all of them.
   *
   * <p>Snapshots and cursors stay valid. Data visible to a snapshot is live. Files that an open
   * cursor needs are replaced, but deleted only when the cursor is closed.
   *
   * <p>A value-log file in which damage is found is kept unchanged, and its readable content stays
   * available; the report names it, and the other files are processed. The same applies to a
   * damaged table and the files to which it points. They are skipped until the store is reopened.
   *
   * <p>On an error every entry keeps its place, and files completed before are kept.
   *
   * @return what was done
   * @throws StorageException if a device operation failed, such as on a full disk; the call may be
   *     repeated
   * @throws io.kvsep.error.StoreFailedException if a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  ReclaimReport reclaim();

  /**
   * Reads and checks every byte of every file of the store as of the start of the call: CURRENT and
   * the manifest, every block of every table, every frame and record of the value log. Redundant
   * data is compared: the order of entries, filters and indexes for every key, statistics in tables
   * and in the manifest, and the live bytes of each file. For each entry with a value in the log,
   * the pointer must lead to the record of its key, and the value must decompress.
   *
   * <p>Damage is never thrown; checking continues after it. Nothing is changed. Writes, reads and
   * background work continue; replaced files stay on disk until the call ends. Runs on the calling
   * thread and takes as long as reading all files once and the values in the log a second time.
   * Memory does not grow with the number of entries: one block, one key and one compressed value
   * are held at a time.
   *
   * <p>Not detected: memory errors, damage to entries that are in no table yet (the log that holds
   * them is checked), and data lost together with every reference to it.
   *
   * @return what was checked, and each problem with file and offset
   * @throws StorageException if a device operation failed
   * @throws io.kvsep.error.StoreClosedException if the store is closed, also during the call
   */
  VerifyReport verify();

  /**
   * Creates a copy of the store in {@code directory} as of one point in time during the call:
   * everything committed before that point and nothing after. The copy is an independent store and
   * durable on return.
   *
   * <p>Immutable files, which are nearly all, are hard-linked rather than copied. The call is
   * therefore short for any size of store, and the copy uses no space until one of the stores
   * deletes files that the other keeps. Files are copied if the file systems do not support hard
   * links. Neither store writes to a shared file.
   *
   * <p>The copy opens as fast as a cleanly closed store: the call first flushes the memtables, so
   * there is no log to replay. Reads and writes continue; writers wait while what they wrote during
   * that flush is flushed too, and the log switches to a new segment. The copy may be opened at
   * once, also read-only, while this store is open.
   *
   * <p>After an error or a crash during the call, {@code directory} is either absent or complete.
   * If the process dies, a directory with the suffix ".partial" may remain, which can be deleted.
   *
   * @param directory the directory to create; missing parents are created too
   * @throws StorageException if {@code directory} exists, even empty, or if a device operation
   *     failed; nothing was changed
   * @throws io.kvsep.error.StoreFailedException if a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  void checkpoint(Path directory);

  /**
   * Writes the whole store, or its changes since an earlier backup, to a stream, as of one point in
   * time at the start of the call: the entries of all keyspaces with their expiry, deletes, and the
   * keyspaces. Every block has a checksum that also covers the preceding blocks. Reads and writes
   * continue.
   *
   * <p>A backup of changes can be restored only into a store that holds exactly the state of the
   * earlier backup. If compaction has dropped deletes made since then, the result is a full backup
   * instead, restored in the same way. Every backup reads the index of the whole store, but only
   * the values that it writes.
   *
   * <p>Like {@link #sync}, the call first makes the content durable in the store. A read-only store
   * cannot do that: back it up read-only only after it was closed, or opened for writing.
   *
   * <p>Runs on the calling thread, one block at a time. Memory does not grow with the values,
   * except that one compressed value is held at a time. The stream is flushed but not closed.
   *
   * @param sinceSequence the result of the earlier backup, 0 for a full backup
   * @param output receives the backup
   * @return the sequence number up to which this backup reaches
   * @throws IllegalArgumentException if no backup of this store can have returned that number
   * @throws StorageException if the device or the stream failed; the output is not a valid backup
   * @throws CorruptionException if the store is damaged; the output is not a valid backup
   * @throws io.kvsep.error.StoreFailedException if a sync of the log failed, now or earlier. After
   *     a failed sync of the manifest a backup is still possible
   * @throws io.kvsep.error.StoreClosedException if the store is closed, also during the call
   */
  long backup(OutputStream output, long sinceSequence);

  /**
   * Restores a backup into this store. A full backup requires a store that was never written to. A
   * backup of changes requires a store restored up to exactly the number at which the backup
   * starts, without later writes or new keyspaces.
   *
   * <p>All of the backup becomes visible at one point at the end of the call, durable, or nothing
   * of it ever does, after any error or crash. Reads and writes continue meanwhile. If anything is
   * written or a keyspace is created before that point, the restore is refused; after it, later
   * backups are refused. Restores and bulk loads run one at a time. Nothing after the end of the
   * backup is read.
   *
   * <p>Like a bulk load, a restore ends the change feeds of this store. Deleted ranges and dropped
   * keyspaces become deletes of the keys in them.
   *
   * <p>Memory depends on the longest value. The new store has its own identity and sequence
   * numbers; its backups are for stores restored from them.
   *
   * @param input the backup
   * @return the sequence number of the backed-up store that this store has reached
   * @throws CorruptionException if the stream is truncated or damaged; nothing was changed
   * @throws IncompatibleFormatException if the stream is not a backup, has a later format, or does
   *     not fit this store; nothing was changed
   * @throws StorageException if the device or the stream failed
   * @throws io.kvsep.error.StoreFailedException if a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  long restore(InputStream input);

  /**
   * As {@link #bulkLoad(Iterator)} of {@link #in} that keyspace.
   *
   * @param keyspace the keyspace
   * @param entries the entries
   * @return as {@link #bulkLoad(Iterator)}
   */
  long bulkLoad(Keyspace keyspace, Iterator<? extends Map.Entry<byte[], byte[]>> entries);

  /**
   * Opens a feed of the changes committed after a given sequence number, read from the log.
   *
   * <p>The number is a {@link Snapshot#sequence()}, the result of {@link #backup}, or a {@link
   * Change#sequence()}. It remains valid after reopening the store if it was durable: a number
   * revoked by a power failure may be reused. Numbers of backups and changes are durable, and, like
   * {@link #sync}, this call makes everything committed before it durable. A {@link #checkpoint}
   * has the numbers of its source store.
   *
   * @param afterSequence 0 for all changes ever made
   * @return the feed
   * @throws io.kvsep.error.ChangesLostException if the log no longer contains all of them
   * @throws IllegalArgumentException if the store has not reached that number
   * @throws io.kvsep.error.StoreFailedException if a sync failed, now or earlier
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  ChangeFeed changes(long afterSequence);

  /** {@return current statistics} Cheap; the cost grows with the number of files. */
  StoreStats stats();

  /**
   * {@return the estimated size of {@code keyspace}} Costs as much as {@link #approximateCount}.
   *
   * @param keyspace the keyspace
   * @throws IllegalStateException if it was dropped
   */
  KeyspaceStats stats(Keyspace keyspace);

  /**
   * {@return the current files of the value log in creation order, with the live bytes of each}
   * Costs a few times as much as {@link #stats}.
   */
  List<SegmentStats> segments();

  /**
   * Waits for running calls, flushes and syncs, and releases all resources. Every later call throws
   * {@link io.kvsep.error.StoreClosedException}; closing again has no effect. Throws {@link
   * IllegalStateException} when called inside {@link KvReader#read}, by the iterator of a bulk
   * load, or by the stream of a backup or restore.
   *
   * <p>A closed store does not keep kvsep's class loader reachable. If the program creates
   * Chronicle Bytes, a thread and a shutdown hook of Chronicle do; docs/dependencies.md says how to
   * end them.
   *
   * @throws io.kvsep.error.StoreFailedException if the store has failed, now or earlier; writes
   *     that were not synced may not be on stable storage. The store is closed anyway
   * @throws StorageException if a device operation failed; the store is closed anyway
   */
  @Override
  void close();
}
