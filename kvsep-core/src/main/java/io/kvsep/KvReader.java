package io.kvsep;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * Read operations, on the latest state of a store or on a snapshot.
 *
 * <p>Keys are 1 to 65,535 bytes long and ordered as unsigned bytes. Checksums are verified on every
 * read: damaged bytes throw {@link CorruptionException} and never produce a wrong, empty or missing
 * value. Expired entries are absent. Every method throws {@link StoreClosedException} once the
 * store or snapshot is closed, {@link LimitExceededException} for a key outside the limits, and
 * {@link NullPointerException} with the parameter's name for a null. No method changes anything.
 *
 * <p>Thread safe. Readers take no lock and never wait for writers.
 */
public interface KvReader {
  /**
   * {@return a new copy of the value, or null if the key is absent} Allocates only the result.
   *
   * @param key the key
   */
  byte @Nullable [] get(byte[] key);

  /**
   * {@return whether the key is present; does not read the value}
   *
   * @param key the key
   */
  boolean contains(byte[] key);

  /**
   * {@return version, length and expiry of the entry, or null if the key is absent; does not read
   * the value}
   *
   * @param key the key
   */
  @Nullable EntryInfo info(byte[] key);

  /**
   * {@return the values of {@code keys} in the given order, null where absent, all as of one point
   * in time} Keys may repeat. Values that are not in memory are read many at once, which is much
   * faster than a {@link #get(byte[])} for each. While it runs, a call for many keys pins the files
   * and memory of its read state like a cursor.
   *
   * @param keys the keys
   */
  List<byte @Nullable []> getAll(List<byte[]> keys);

  /**
   * Passes a read-only view of the value to {@code reader} and returns its result, or null if the
   * key is absent. The view extends from position 0 to its limit and is valid only during the call.
   * Values of more than 256 bytes that are stored uncompressed in a mapped segment are not copied.
   * Exception: if deleted files take much space because the garbage collector has not yet found
   * their views unreachable, values up to 1 MiB are copied. On Windows every value is copied,
   * because a mapped file cannot be deleted there.
   *
   * <p>{@code reader} may take arbitrarily long and may call the store. Meanwhile replaced files
   * and unused memory are freed; only the file of the view keeps its disk space until the view is
   * unreachable. {@code reader} must not close the store; {@link KvStore#close} in another thread
   * waits for this call. Exceptions of {@code reader} propagate unchanged, except that an {@link
   * InternalError} by which the JVM reports an unreadable page of a mapping becomes a {@link
   * io.kvsep.error.StorageException}.
   *
   * @param <R> type of the result
   * @param key the key
   * @param reader receives the value
   * @return the result of {@code reader}, or null if the key is absent
   */
  <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader);

  /**
   * As {@link #read}, but also passes the result of {@link #info} for the same entry. One lookup
   * finds both, so they match despite concurrent writes.
   *
   * @param <R> type of the result
   * @param key the key
   * @param reader receives the value
   * @return the result of {@code reader}, or null if the key is absent
   */
  <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reader);

  /**
   * As {@link #readWithInfo(byte[], BiFunction)}, but a value longer than {@code valueBytesMax}
   * bytes is not read and {@code reader} gets null instead. For threads that must not block, and
   * for callers that read long values in another way.
   *
   * @param <R> type of the result
   * @param key the key
   * @param valueBytesMax the length of the longest value that is read
   * @param reader receives the value
   * @return the result of {@code reader}, or null if the key is absent
   * @throws IllegalArgumentException if {@code valueBytesMax} is negative
   */
  <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader);

  /**
   * Appends the value to {@code target} at its write position. Returns its length, or -1 if the key
   * is absent. The key is the content of {@code key} between its read position and its limit.
   * Allocates nothing if the target has capacity, except 16 bytes for a key in a mapped file.
   * Compressed values are decompressed off-heap, or into an array if no off-heap memory is
   * available: because the value is longer than a thirty-second of the memory budget (8 MiB by
   * default), or other reads use that memory.
   *
   * @param key the key
   * @param target receives the value
   * @return the length of the value, or -1 if the key is absent
   */
  long get(BytesStore<?, ?> key, Bytes<?> target);

  /**
   * Puts the value into {@code target} at its position and advances the position behind it. Returns
   * the length of the value, or -1 if the key is absent. A value longer than {@link
   * ByteBuffer#remaining} is not read: {@code target} is unchanged then, and the result says how
   * much is needed. The target may be on the heap or direct; its limit does not change. Allocates
   * nothing, except as {@link #get(BytesStore, Bytes)} does for compressed values.
   *
   * @param key the key
   * @param target receives the value
   * @return the length of the value in bytes, or -1 if the key is absent
   * @throws java.nio.ReadOnlyBufferException if {@code target} is read-only
   */
  int get(byte[] key, ByteBuffer target);

  /**
   * {@return a cursor over all entries; see {@link KvCursor} for its lifetime}
   *
   * <p>The first cursor after many writes sorts the recent writes by key. This takes about 250 ns
   * per key that is not in a table yet, with the default memory budget at most some tenths of a
   * second.
   */
  KvCursor cursor();

  /**
   * {@return a cursor over the entries that {@code options} select}
   *
   * @param options the options
   */
  KvCursor cursor(ScanOptions options);

  /**
   * {@return a copy of the entry with the smallest key, or null if there is none} This and the five
   * methods below each cost a {@link #cursor(ScanOptions)} that reads one entry.
   */
  default @Nullable KvEntry first() {
    return firstOf(ScanOptions.all());
  }

  /** {@return a copy of the entry with the largest key, or null if there is none} */
  default @Nullable KvEntry last() {
    return firstOf(ScanOptions.all().reverse());
  }

  /**
   * {@return a copy of the entry with the largest key at or before {@code key}, or null if there is
   * none}
   *
   * @param key any bytes; as in {@link KvCursor#seek}, it may be empty or longer than a key can be
   */
  default @Nullable KvEntry floor(byte[] key) {
    return firstOf(ScanOptions.range(null, successor(key)).reverse());
  }

  /**
   * {@return a copy of the entry with the smallest key at or after {@code key}, or null if there is
   * none}
   *
   * @param key as for {@link #floor}
   */
  default @Nullable KvEntry ceiling(byte[] key) {
    return firstOf(ScanOptions.range(Objects.requireNonNull(key, "key"), null));
  }

  /**
   * {@return a copy of the entry with the largest key before {@code key}, or null if there is none}
   *
   * @param key as for {@link #floor}
   */
  default @Nullable KvEntry lower(byte[] key) {
    return firstOf(ScanOptions.range(null, Objects.requireNonNull(key, "key")).reverse());
  }

  /**
   * {@return a copy of the entry with the smallest key after {@code key}, or null if there is none}
   *
   * @param key as for {@link #floor}
   */
  default @Nullable KvEntry higher(byte[] key) {
    return firstOf(ScanOptions.range(successor(key), null));
  }

  /**
   * {@return the entries that {@code options} select, in their order, as of this call} The stream
   * owns a cursor and must be closed, unless a terminal operation reaches its end:
   *
   * <pre>{@code
   * try (Stream<KvEntry> entries = store.stream(ScanOptions.prefix(prefix))) {
   *   return entries.filter(entry -> matches(entry.value())).findFirst();
   * }
   * }</pre>
   *
   * <p>Sequential: a parallel stream does not split it. Entries are copies, read while the stream
   * is consumed, with the errors of a cursor. With {@link ScanOptions#keysOnly()} their values are
   * empty arrays and the value log is not read.
   *
   * @param options the options
   */
  default Stream<KvEntry> stream(ScanOptions options) {
    KvCursor cursor = cursor(options);
    return StreamSupport.stream(new EntrySpliterator(cursor, options), /* parallel= */ false)
        .onClose(cursor::close);
  }

  /**
   * Calls {@code action} with copies of key and value of each entry that {@code options} select, in
   * their order, as of the start of the call. With {@link ScanOptions#keysOnly()} the values are
   * empty arrays and the value log is not read. An exception of {@code action} ends the call and
   * propagates unchanged.
   *
   * @param options the options
   * @param action receives key and value
   */
  default void forEach(ScanOptions options, BiConsumer<byte[], byte[]> action) {
    Objects.requireNonNull(action, "action");
    try (KvCursor cursor = cursor(options)) {
      boolean keysOnly = options.isKeysOnly();
      while (cursor.next()) {
        action.accept(cursor.key(), EntrySpliterator.value(cursor, keysOnly));
      }
    }
  }

  /**
   * Estimates the number of entries from {@code fromInclusive} to {@code toExclusive} in the newest
   * state, whatever this reader sees otherwise. Uses the index alone and reads no value: blocks of
   * the tables at the two bounds, a sample of each memtable, and sums over the tables between. In
   * O(log n), some ten microseconds for each table at a bound; with deleted ranges that compaction
   * has not applied yet, each table of the range is looked at. In a transaction or write buffer the
   * own writes in the range are counted, too, one by one. A transaction does not record it as a
   * read.
   *
   * <p>The error has three parts. A table at a bound is counted exactly if no more than 16 of its
   * blocks of about 4 KiB are inside the range, or outside; of more, 16 stand for all, with an
   * error of a few percent of the table's entries. In each memtable of more than 1,024 entries
   * there is a standard error of about 2 percent of these. And an entry counts until compaction has
   * dropped it: one that was replaced or has expired, or that lies in a part of a deleted range,
   * counts although it is not visible, and a delete of an absent key counts as minus one. After
   * {@link KvStore#compact} only the first part remains.
   *
   * @param fromInclusive the first key of the range, null for an open end
   * @param toExclusive the key after the range, null for an open end
   * @return the estimate, not negative
   */
  long approximateCount(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive);

  /**
   * Estimates the bytes that the entries from {@code fromInclusive} to {@code toExclusive} take:
   * keys and values as stored, that is, compressed and with what is stored beside them. Cost and
   * errors are those of {@link #approximateCount}; deletes do not reduce it before they are
   * compacted.
   *
   * @param fromInclusive the first key of the range, null for an open end
   * @param toExclusive the key after the range, null for an open end
   * @return the estimate in bytes, not negative
   */
  long approximateBytes(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive);

  private @Nullable KvEntry firstOf(ScanOptions options) {
    try (KvCursor cursor = cursor(options.limit(1).prefetch(0))) {
      return cursor.next() ? new KvEntry(cursor.key(), cursor.value()) : null;
    }
  }

  /** The smallest key greater than {@code key}. */
  private static byte[] successor(byte[] key) {
    return Arrays.copyOf(Objects.requireNonNull(key, "key"), key.length + 1);
  }
}
