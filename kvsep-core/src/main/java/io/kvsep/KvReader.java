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
 * Reading, from a store (its present) or from a snapshot (one fixed moment).
 *
 * <p>Keys order as unsigned bytes and are 1 to 65,535 bytes long. Every checksum on the way is
 * verified: damaged bytes raise {@link CorruptionException}, never a wrong, empty or missing value.
 * Expired entries are absent. Every method throws {@link StoreClosedException} once the store or
 * snapshot is closed, {@link LimitExceededException} for a key outside the limits and {@link
 * NullPointerException} naming the parameter for a null; none of them changes anything.
 *
 * <p>Thread safe. Readers take no lock and never wait for writers.
 */
public interface KvReader {
  /** A fresh copy of the value, null when the key is absent. Allocates only what it returns. */
  byte @Nullable [] get(byte[] key);

  /** Whether the key is present; never reads the value. */
  boolean contains(byte[] key);

  /**
   * Version, length and expiry of the entry, null when the key is absent; never reads the value.
   */
  @Nullable EntryInfo info(byte[] key);

  /**
   * The values of {@code keys} in their order, null where absent, all as of one moment. A key may
   * come more than once. Values that are not in memory are read many at once, which is much faster
   * than one call of {@link #get(byte[])} for each. Until it returns, a call for many keys keeps
   * the files and memory of its moment, as a cursor does.
   */
  List<byte @Nullable []> getAll(List<byte[]> keys);

  /**
   * Hands a read-only view of the value to {@code reader} and returns what that returns; null when
   * the key is absent. The view runs from position 0 to its limit and is valid only inside the
   * call. A value of more than 256 bytes that is stored uncompressed in a mapped segment is not
   * copied, unless much of what was deleted is still kept by views that the garbage collector has
   * not found to be gone; one of more than 1 MiB never is. On Windows every value is copied: no
   * file can be deleted there as long as anything of it is mapped.
   *
   * <p>The reader may take as long as it likes, and call the store. Files that are replaced and
   * memory that is not needed any more are given back meanwhile; only the file that the view shows
   * keeps its space on the device until the view is gone. The store cannot be closed from inside
   * the call, and {@link KvStore#close} in another thread waits for the end of it. What the reader
   * throws is thrown as it is; only an {@link InternalError} by which the JVM tells of a page of a
   * mapping that cannot be read becomes a {@link io.kvsep.error.StorageException}.
   */
  <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader);

  /**
   * As {@link #read}, with what {@link #info} tells of the same entry: one lookup finds both, so
   * that they belong together whoever writes meanwhile.
   */
  <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reader);

  /**
   * As {@link #readWithInfo(byte[], BiFunction)}, but a value of more than {@code valueBytesMax}
   * bytes is not read: {@code reader} gets null in its place. For threads that should not be held
   * up, and where long values are read in another way.
   *
   * @throws IllegalArgumentException when {@code valueBytesMax} is negative
   */
  <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader);

  /**
   * Appends the value to {@code target} at its write position; returns its length, or -1 when the
   * key is absent. The key is what lies between the read position and limit of {@code key}.
   * Allocates nothing as long as the target has room, but 16 bytes for a key in a mapped file. A
   * value that is stored compressed is unpacked off the heap first; only where other reads leave no
   * room for that in a thirty-second of the memory budget, or it is longer, 8 MiB with the default
   * one, it takes an array.
   */
  long get(BytesStore<?, ?> key, Bytes<?> target);

  /**
   * A cursor over everything; see {@link KvCursor} for its lifetime.
   *
   * <p>What was written last is brought in the order of its keys when the first cursor wants that:
   * behind a long stretch of writes without cursors this takes about a quarter of a microsecond for
   * each key that is not in a table yet, some tenths of a second at most with the default memory.
   */
  KvCursor cursor();

  /** A cursor over what {@code options} selects. */
  KvCursor cursor(ScanOptions options);
}
