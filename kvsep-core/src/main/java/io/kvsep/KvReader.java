package io.kvsep;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
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
}
