package io.kvsep.internal.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A range of off-heap or mapped bytes. Every access is bounds-checked; the check cannot be turned
 * off: a stray address would crash the JVM or worse. Multi-byte values are little-endian on every
 * platform.
 *
 * <p>{@link #free} releases the bytes at once and leaves an empty region, so that a later access
 * fails its check. No other thread may be inside an access at that moment; regions shared with
 * readers are freed through {@link Epochs}.
 *
 * <p>Thread safety: as plain memory. The {@code Volatile} and {@code Release} methods are for
 * publication.
 */
public final class Region extends RawBytes {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int CACHE_LINE_BYTES = 64;

  /** Up to this length a loop is cheaper than a copying call. */
  private static final int LOOP_BYTES_MAX = 64;

  /** Below this length {@link #touchApart} equals {@link #touch}. */
  private static final int APART_BYTES_MIN = PageProbe.PAGE_BYTES_MIN;

  private static final int TOUCHED_PARTS = 8;

  private static final long UNLIKELY_LONG = 0xa75c_39d1_6be4_028fL;

  /** Longs copied by {@link #copyLine}. */
  public static final int LINE_LONGS = CACHE_LINE_BYTES / 8;

  /** Not final, so that the compiler cannot assume the value. */
  private static int nothing = 0;

  private final @Nullable MemoryLedger ledger;
  private final @Nullable MemoryPurpose purpose;

  /** Whether views of the mapping may outlive the region. */
  private final boolean exposable;

  private @Nullable ByteBuffer readOnly;

  /** Whether a view of unknown lifetime was handed out. */
  private volatile boolean exposed;

  private Region(MemoryLedger ledger, MemoryPurpose purpose, long length, boolean zeroed) {
    super(length, zeroed);
    this.ledger = ledger;
    this.purpose = purpose;
    this.exposable = false;
  }

  private Region(ByteBuffer mapping, @Nullable MemoryLedger ledger, boolean exposable) {
    super(mapping);
    this.ledger = ledger;
    this.purpose = null;
    this.exposable = exposable;
    this.readOnly = views();
  }

  static Region allocate(MemoryLedger ledger, MemoryPurpose purpose, long length) {
    requireLength(length);
    return new Region(ledger, purpose, length, /* zeroed= */ true);
  }

  static Region allocateUncleared(MemoryLedger ledger, MemoryPurpose purpose, long length) {
    requireLength(length);
    return new Region(ledger, purpose, length, /* zeroed= */ false);
  }

  private static void requireLength(long length) {
    if (length <= 0) {
      throw new IllegalArgumentException("length=" + length);
    }
  }

  /** Takes ownership of {@code mapping}, a direct buffer, from 0 to its limit. */
  public static Region ofMapping(ByteBuffer mapping) {
    return ofMapping(mapping, /* ledger= */ null, /* exposable= */ true);
  }

  /**
   * A region over a mapped file.
   *
   * @param ledger records the mapping if it outlives the region
   * @param exposable whether views may outlive the region
   */
  public static Region ofMapping(
      ByteBuffer mapping, @Nullable MemoryLedger ledger, boolean exposable) {
    if (!mapping.isDirect()) {
      throw new IllegalArgumentException("not a direct buffer");
    }
    return new Region(mapping, ledger, exposable);
  }

  /**
   * Leaves a mapping with views from {@link #expose} to the garbage collector: they may still be
   * referenced. Idempotent.
   */
  public void free() {
    long freed = length();
    if (freed == 0) {
      return;
    }
    if (ledger != null && purpose != null) {
      try {
        release();
      } finally {
        ledger.released(purpose, freed);
      }
    } else if (!exposed) {
      unmap();
    } else {
      Object keptByViews = abandon();
      if (keptByViews != null && ledger != null) {
        ledger.lingering().add(keptByViews, freed);
      }
    }
    readOnly = null;
  }

  public boolean isExposable() {
    return readOnly != null && exposable;
  }

  /** False for a first view while many mappings await the garbage collector. */
  public boolean mayExpose() {
    return isExposable() && (exposed || ledger == null || !ledger.lingering().areMany());
  }

  /**
   * A read-only buffer over part of a mapping, valid while referenced: from now on only the garbage
   * collector unmaps the pages.
   */
  public ByteBuffer expose(long offset, int count) {
    checkRange(offset, count);
    ByteBuffer source = readOnly;
    if (source == null || !exposable) {
      throw new IllegalStateException("only mappings can be exposed");
    }
    // Written only once, because readers of one mapping would contend for the cache line.
    if (!exposed) {
      exposed = true;
    }
    DeferredPageFaults.mayFollow();
    return source.slice((int) offset, count);
  }

  /** Reads one byte of each cache line: all are being fetched before the first is needed. */
  public void touch(long offset, int count) {
    checkRange(offset, count);
    requireTouched(touch(offset, 0, count));
  }

  /**
   * As {@link #touch}, for a range whose neighbourhood was not read before. In address order a
   * processor prefetches only one or two pages ahead and waits for each address translation;
   * reading eight parts in parallel avoids that. Figures: docs/decisions/06.
   */
  public void touchApart(long offset, int count) {
    checkRange(offset, count);
    long sum = 0;
    int part = count < APART_BYTES_MIN ? 0 : count / TOUCHED_PARTS & -CACHE_LINE_BYTES;
    for (int i = 0; i < part; i += CACHE_LINE_BYTES) {
      long at = offset + i;
      sum += byteAt(at);
      sum += byteAt(at + part);
      sum += byteAt(at + 2L * part);
      sum += byteAt(at + 3L * part);
      sum += byteAt(at + 4L * part);
      sum += byteAt(at + 5L * part);
      sum += byteAt(at + 6L * part);
      sum += byteAt(at + 7L * part);
    }
    requireTouched(sum + touch(offset, TOUCHED_PARTS * part, count));
  }

  private long touch(long start, int from, int limit) {
    long sum = 0;
    for (int i = from; i < limit; i += CACHE_LINE_BYTES) {
      sum += byteAt(start + i);
    }
    return sum;
  }

  /** Never throws; keeps the compiler from eliminating the reads. */
  private static void requireTouched(long sum) {
    if (sum == Long.MIN_VALUE) {
      throw new AssertionError(sum);
    }
  }

  /** {@code question} must not keep the buffer. */
  public boolean test(long offset, int count, Predicate<ByteBuffer> question) {
    checkRange(offset, count);
    ByteBuffer source = readOnly;
    if (source == null) {
      throw new IllegalStateException("not a mapping");
    }
    return question.test(source.slice((int) offset, count));
  }

  /**
   * Throws if a page of a mapping read before this call could not be read. For code that interprets
   * or copies bytes without a checksum, or is about to report corruption: after a fault the JVM
   * continues with wrong bytes, and a copy leaves its target unchanged. The error is thrown when
   * the thread next returns from the JVM runtime to Java code; since Java 25, when compiled code
   * next returns, possibly beyond the callers that would have caught it. Creating a two-dimensional
   * array enters the runtime; an empty one is cheapest, see docs/decisions/07. It allocates 16
   * bytes of heap, so lookups use {@link #copyLine} and {@link #requireReadable} instead.
   *
   * @throws InternalError for an unreadable page, as the JVM does
   */
  public static void requirePagesRead() {
    byte[][] made = new byte[nothing][nothing];
    if (made.length != nothing) {
      throw new AssertionError("an array of another length");
    }
  }

  /**
   * Throws if the range is in a mapping and a page cannot be read. For JVM intrinsics, such as
   * checksums, that crash the process on such a page.
   *
   * @param probe its first byte is overwritten
   * @throws InternalError for an unreadable page, as the JVM does
   */
  void requireReadable(long offset, long count, byte[] probe) {
    checkRange(offset, count);
    if (purpose == null) {
      PageProbe.require(this, offset, count, probe);
    }
  }

  /**
   * Copies 64 bytes within one page, as words in the order of {@link #getLong}. For code that
   * interprets bytes without a checksum and does not call {@link #requirePagesRead}.
   *
   * @param target at least {@link #LINE_LONGS} long
   * @throws InternalError for an unreadable page, as the JVM does
   */
  public void copyLine(long offset, long[] target) {
    checkRange(offset, CACHE_LINE_BYTES);
    Objects.checkFromIndexSize(0, LINE_LONGS, target.length);
    // No line begins with both values, and most do not begin with the first.
    if (isUnchanged(offset, target, UNLIKELY_LONG) && isUnchanged(offset, target, ~UNLIKELY_LONG)) {
      requirePagesRead();
      throw PageFault.ofProbe();
    }
  }

  private boolean isUnchanged(long offset, long[] target, long filler) {
    target[0] = filler;
    copyTo(target, offset, LINE_LONGS);
    return target[0] == filler;
  }

  public boolean isMapping() {
    return purpose == null;
  }

  /** The first bytes of a key, at most eight, as a number with the same unsigned order. */
  public long keyPrefix(long offset, int keyLength) {
    checkRange(offset, keyLength);
    if (keyLength >= 8) {
      return Long.reverseBytes(longAt(offset));
    }
    long prefix = 0;
    for (int i = 0; i < keyLength; i++) {
      prefix |= (byteAt(offset + i) & 0xffL) << (56 - 8 * i);
    }
    return prefix;
  }

  public void get(long offset, byte[] target, int targetIndex, int count) {
    checkRange(offset, count);
    checkArray(target, targetIndex, count);
    copyTo(target, targetIndex, offset, count);
  }

  /** As {@link #get}, faster for few bytes: copies up to seven more if both sides have them. */
  public void getFew(long offset, byte[] target, int targetIndex, int count) {
    if ((offset | targetIndex | count) < 0
        || count > LOOP_BYTES_MAX
        || length() - offset < count + 7
        || target.length - targetIndex < count + 7) {
      get(offset, target, targetIndex, count);
      return;
    }
    for (int i = 0; i < count; i += 8) {
      LONG.set(target, targetIndex + i, longAt(offset + i));
    }
  }

  public byte[] getBytes(long offset, int count) {
    checkRange(offset, count);
    byte[] bytes = new byte[count];
    copyTo(bytes, 0, offset, count);
    return bytes;
  }

  public void put(long offset, byte[] source, int sourceIndex, int count) {
    checkRange(offset, count);
    checkArray(source, sourceIndex, count);
    copyFrom(source, sourceIndex, offset, count);
  }

  /** The ranges must not overlap. */
  public void put(long offset, Region source, long sourceOffset, long count) {
    checkRange(offset, count);
    source.checkRange(sourceOffset, count);
    copyFrom(source, sourceOffset, offset, count);
  }

  /**
   * Copies native memory for which the caller is responsible, such as a user's off-heap bytes,
   * possibly in a mapping.
   *
   * @throws InternalError as {@link #requireReadable} does
   */
  public void putNative(long offset, long sourceAddress, long count) {
    checkRange(offset, count);
    UserMemory.read(sourceAddress, address() + offset, count);
  }

  /** Copies to native memory for which the caller is responsible. */
  public void getNative(long offset, long targetAddress, long count) {
    checkRange(offset, count);
    UserMemory.write(address() + offset, targetAddress, count);
  }

  public void fill(long offset, long count, byte value) {
    checkRange(offset, count);
    setAll(offset, count, value);
  }

  /** Compares two keys as unsigned bytes; a prefix precedes its extensions. */
  public static int compare(
      Region a, long aOffset, int aLength, Region b, long bOffset, int bLength) {
    a.checkRange(aOffset, aLength);
    b.checkRange(bOffset, bLength);
    int common = Math.min(aLength, bLength);
    int i = 0;
    for (; i + 8 <= common; i += 8) {
      long x = a.longAt(aOffset + i);
      long y = b.longAt(bOffset + i);
      if (x != y) {
        return Long.compareUnsigned(Long.reverseBytes(x), Long.reverseBytes(y));
      }
    }
    for (; i < common; i++) {
      int x = a.byteAt(aOffset + i) & 0xff;
      int y = b.byteAt(bOffset + i) & 0xff;
      if (x != y) {
        return x - y;
      }
    }
    return aLength - bLength;
  }

  /** As {@link #compare}, with a key on the heap. */
  public int compareTo(long offset, int keyLength, byte[] key) {
    int same = commonPrefix(offset, keyLength, key);
    return same < keyLength && same < key.length
        ? (byteAt(offset + same) & 0xff) - (key[same] & 0xff)
        : keyLength - key.length;
  }

  /** Whether the bytes here equal the first {@code count} bytes of an array. */
  public boolean holds(long offset, byte[] bytes, int count) {
    checkRange(offset, count);
    checkArray(bytes, 0, count);
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      if (longAt(offset + i) != (long) LONG.get(bytes, i)) {
        return false;
      }
    }
    while (i < count && byteAt(offset + i) == bytes[i]) {
      i++;
    }
    return i == count;
  }

  public static int commonPrefix(
      Region a, long aOffset, int aLength, Region b, long bOffset, int bLength) {
    a.checkRange(aOffset, aLength);
    b.checkRange(bOffset, bLength);
    int common = Math.min(aLength, bLength);
    int i = 0;
    for (; i + 8 <= common; i += 8) {
      long difference = a.longAt(aOffset + i) ^ b.longAt(bOffset + i);
      if (difference != 0) {
        return i + Long.numberOfTrailingZeros(difference) / 8;
      }
    }
    while (i < common && a.byteAt(aOffset + i) == b.byteAt(bOffset + i)) {
      i++;
    }
    return i;
  }

  /** As the other, with a key on the heap. */
  public int commonPrefix(long offset, int keyLength, byte[] key) {
    checkRange(offset, keyLength);
    int common = Math.min(keyLength, key.length);
    int i = 0;
    for (; i + 8 <= common; i += 8) {
      long difference = longAt(offset + i) ^ (long) LONG.get(key, i);
      if (difference != 0) {
        return i + Long.numberOfTrailingZeros(difference) / 8;
      }
    }
    while (i < common && byteAt(offset + i) == key[i]) {
      i++;
    }
    return i;
  }

  /** See {@link RawBytes#aim}. */
  ByteBuffer aimed(ByteBuffer window, long offset, int count) {
    checkRange(offset, count);
    return aim(window, offset, count);
  }

  private static void checkArray(byte[] array, int index, int count) {
    if ((index | count) < 0 || array.length - index < count) {
      throw new IndexOutOfBoundsException(
          "index=" + index + ", count=" + count + ", array.length=" + array.length);
    }
  }
}
