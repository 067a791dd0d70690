package io.kvsep;

import io.kvsep.TransactionModel.ReadRange;
import io.kvsep.internal.read.ScanBounds;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** Tells a model what is read through a transaction. */
record TrackedTransactionReader(KvReader reader, TransactionModel model, int space)
    implements KvReader {

  @Override
  public byte @Nullable [] get(byte[] key) {
    model.readKey(space, key);
    return reader.get(key);
  }

  @Override
  public boolean contains(byte[] key) {
    model.readKey(space, key);
    return reader.contains(key);
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    model.readKey(space, key);
    return reader.info(key);
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    keys.forEach(key -> model.readKey(space, key));
    return reader.getAll(keys);
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(
      byte[] key, Function<ByteBuffer, R> reading) {
    model.readKey(space, key);
    return reader.read(key, reading);
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reading) {
    model.readKey(space, key);
    return reader.readWithInfo(key, reading);
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reading) {
    model.readKey(space, key);
    return reader.readWithInfo(key, valueBytesMax, reading);
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    model.readKey(space, key.toByteArray());
    return reader.get(key, target);
  }

  @Override
  public int get(byte[] key, ByteBuffer target) {
    model.readKey(space, key);
    return reader.get(key, target);
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    return new TrackedCursor(reader.cursor(options), options.bounds(space));
  }

  @Override
  public long approximateCount(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return reader.approximateCount(fromInclusive, toExclusive);
  }

  @Override
  public long approximateBytes(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return reader.approximateBytes(fromInclusive, toExclusive);
  }

  /** Works out anew what each move has read. */
  private final class TrackedCursor implements KvCursor {
    private final KvCursor cursor;
    private final byte @Nullable [] low;
    private final byte @Nullable [] high;
    private final boolean reverse;
    private final long limit;
    private byte @Nullable [] at;

    private boolean fresh = true;

    TrackedCursor(KvCursor cursor, ScanBounds bounds) {
      model.scans(space);
      this.cursor = cursor;
      this.low = bounds.from();
      this.high = bounds.to();
      this.reverse = bounds.reverse();
      this.limit = bounds.limit();
    }

    @Override
    public boolean next() {
      return moved(at, cursor.next(), !reverse);
    }

    @Override
    public boolean previous() {
      return moved(at, cursor.previous(), reverse);
    }

    @Override
    public boolean seek(byte[] key) {
      return moved(key, cursor.seek(key), !reverse);
    }

    @Override
    public boolean seekFloor(byte[] key) {
      return moved(key, cursor.seekFloor(key), reverse);
    }

    /**
     * Went from a key, or from the bound where null, to where the cursor is now. What may have been
     * read or not, such as behind a limit, is not told.
     */
    private boolean moved(byte @Nullable [] from, boolean found, boolean ascending) {
      byte[] now = found ? cursor.key() : null;
      boolean certain = limit == Long.MAX_VALUE ? found || from != null || fresh : found;
      if (certain && (from != null || fresh || limit == Long.MAX_VALUE)) {
        read(ascending ? from : now, ascending ? now : from);
      }
      fresh = false;
      at = now;
      return found;
    }

    private void read(byte @Nullable [] from, byte @Nullable [] to) {
      boolean below = from == null || (low != null && Arrays.compareUnsigned(from, low) < 0);
      boolean above = to == null || (high != null && Arrays.compareUnsigned(to, high) >= 0);
      model.readRange(new ReadRange(space, below ? low : from, above ? high : to, !above));
    }

    @Override
    public boolean isValid() {
      return cursor.isValid();
    }

    @Override
    public byte[] key() {
      return cursor.key();
    }

    @Override
    public byte[] value() {
      return cursor.value();
    }

    @Override
    public ByteBuffer keyView() {
      return cursor.keyView();
    }

    @Override
    public ByteBuffer valueView() {
      return cursor.valueView();
    }

    @Override
    public int valueLength() {
      return cursor.valueLength();
    }

    @Override
    public OptionalLong expiresAtMillis() {
      return cursor.expiresAtMillis();
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
