package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A range of off-heap or mapped bytes. Every access is bounds-checked; the check cannot be turned
 * off, because a stray address would crash the JVM or worse. Multi-byte values are little-endian on
 * every platform.
 *
 * <p>Lifetime: {@link #free} releases the bytes at once and leaves an empty region, so that a later
 * access fails its check. The owner must ensure that no other thread is inside an access at that
 * moment; regions shared with readers are freed through {@link Epochs}.
 *
 * <p>Thread safety: as plain memory. The {@code Volatile} and {@code Release} methods are for
 * publication.
 */
public final class Region {
  private static final long BYTES_BASE = UNSAFE.arrayBaseOffset(byte[].class);
  private static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
  private static final ByteBuffer WINDOW_BASE = ByteBuffer.allocateDirect(8);
  private static final long BUFFER_ADDRESS = fieldOffset("address");
  private static final long BUFFER_CAPACITY = fieldOffset("capacity");

  private static final int CACHE_LINE_BYTES = 64;

  /** Up to this length a loop is cheaper than a copying call. */
  private static final int LOOP_BYTES_MAX = 64;

  /** The smallest page size of any system. */
  private static final int PAGE_BYTES_MIN = 4096;

  /** Below this length {@link #touchApart} equals {@link #touch}. */
  public static final int APART_BYTES_MIN = PAGE_BYTES_MIN;

  /** Number of parts in the loop of {@link #touchApart}. */
  private static final int TOUCHED_PARTS = 8;

  private static final long UNLIKELY_LONG = 0xa75c_39d1_6be4_028fL;

  /** Longs copied by {@link #copyLine}. */
  public static final int LINE_LONGS = CACHE_LINE_BYTES / 8;

  private static final long LONGS_BASE = UNSAFE.arrayBaseOffset(long[].class);

  /** Not final, so that the compiler cannot assume the value. */
  private static int nothing = 0;

  private long address;
  private long length;
  private final @Nullable MemoryLedger ledger;
  private final @Nullable MemoryPurpose purpose;

  /** Whether views of the mapping may outlive the region. */
  private final boolean exposable;

  private @Nullable ByteBuffer mapping;

  /** The buffer from which views of the mapping are sliced. */
  private @Nullable ByteBuffer readOnly;

  /** Whether a view of unknown lifetime was handed out. */
  private volatile boolean exposed;

  private Region(
      long address,
      long length,
      @Nullable MemoryLedger ledger,
      @Nullable MemoryPurpose purpose,
      @Nullable ByteBuffer mapping,
      boolean exposable) {
    this.address = address;
    this.length = length;
    this.ledger = ledger;
    this.purpose = purpose;
    this.mapping = mapping;
    this.exposable = exposable;
    this.readOnly = mapping == null || mapping.isReadOnly() ? mapping : mapping.asReadOnlyBuffer();
  }

  static Region allocate(MemoryLedger ledger, MemoryPurpose purpose, long length) {
    Region region = allocateUncleared(ledger, purpose, length);
    UNSAFE.setMemory(region.address, length, (byte) 0);
    return region;
  }

  static Region allocateUncleared(MemoryLedger ledger, MemoryPurpose purpose, long length) {
    if (length <= 0) {
      throw new IllegalArgumentException("length=" + length);
    }
    return new Region(
        UNSAFE.allocateMemory(length), length, ledger, purpose, null, /* exposable= */ false);
  }

  /** Takes ownership of {@code mapping}, a direct buffer from the storage, from 0 to its limit. */
  public static Region ofMapping(ByteBuffer mapping) {
    return ofMapping(mapping, /* ledger= */ null, /* exposable= */ true);
  }

  /**
   * As {@link #ofMapping(ByteBuffer)}.
   *
   * @param ledger records the mapping if it outlives the region; may be null
   * @param exposable whether views may outlive the region
   */
  public static Region ofMapping(
      ByteBuffer mapping, @Nullable MemoryLedger ledger, boolean exposable) {
    if (!mapping.isDirect()) {
      throw new IllegalArgumentException("not a direct buffer");
    }
    return new Region(
        UNSAFE.getLong(mapping, BUFFER_ADDRESS), mapping.limit(), ledger, null, mapping, exposable);
  }

  /** Length in bytes; 0 once freed. */
  public long length() {
    return length;
  }

  /**
   * Releases the bytes. A mapping with views from {@link #expose} is left to the garbage collector,
   * because a view may still be referenced. Idempotent.
   */
  public void free() {
    long freed = length;
    long start = address;
    length = 0;
    address = 0;
    if (freed == 0) {
      return;
    }
    if (ledger != null && purpose != null) {
      UNSAFE.freeMemory(start);
      ledger.released(purpose, freed);
    } else if (mapping != null && !exposed) {
      UNSAFE.invokeCleaner(mapping);
    } else if (mapping != null && ledger != null) {
      ledger.lingering().add(mapping);
    }
    mapping = null;
    readOnly = null;
  }

  public boolean isExposable() {
    return mapping != null && exposable;
  }

  /**
   * Whether a view should be handed out: false for a first view while many mappings await the
   * garbage collector.
   */
  public boolean mayExpose() {
    return isExposable() && (exposed || ledger == null || !ledger.lingering().areMany());
  }

  /**
   * A read-only buffer over part of a mapping, valid while it is referenced: from now on only the
   * garbage collector unmaps the pages.
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

  /**
   * Reads one byte of each cache line, so that all are being fetched before the first is needed.
   */
  public void touch(long offset, int count) {
    checkRange(offset, count);
    requireTouched(touch(address + offset, 0, count));
  }

  /**
   * As {@link #touch}, for a range whose neighbourhood was not read before. In address order a
   * processor prefetches only one or two pages ahead and waits for each address translation;
   * reading eight parts in parallel avoids that. Figures: docs/decisions/06.
   */
  public void touchApart(long offset, int count) {
    checkRange(offset, count);
    long start = address + offset;
    long sum = 0;
    int part = count < APART_BYTES_MIN ? 0 : count / TOUCHED_PARTS & -CACHE_LINE_BYTES;
    for (int i = 0; i < part; i += CACHE_LINE_BYTES) {
      long at = start + i;
      sum += UNSAFE.getByte(at);
      sum += UNSAFE.getByte(at + part);
      sum += UNSAFE.getByte(at + 2L * part);
      sum += UNSAFE.getByte(at + 3L * part);
      sum += UNSAFE.getByte(at + 4L * part);
      sum += UNSAFE.getByte(at + 5L * part);
      sum += UNSAFE.getByte(at + 6L * part);
      sum += UNSAFE.getByte(at + 7L * part);
    }
    requireTouched(sum + touch(start, TOUCHED_PARTS * part, count));
  }

  private static long touch(long start, int from, int limit) {
    long sum = 0;
    for (int i = from; i < limit; i += CACHE_LINE_BYTES) {
      sum += UNSAFE.getByte(start + i);
    }
    return sum;
  }

  /** Never throws; keeps the compiler from eliminating the reads. */
  private static void requireTouched(long sum) {
    if (sum == Long.MIN_VALUE) {
      throw new AssertionError(sum);
    }
  }

  /** Applies a predicate to a part of a mapping. It must not keep the buffer. */
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
   * or copies bytes not covered by a checksum, or that is about to report corruption. After a fault
   * the JVM continues with wrong bytes, and a copy leaves its target unchanged. The error is thrown
   * when the thread next returns from the JVM runtime to Java code; since Java 25, when compiled
   * code next returns, possibly beyond the callers that would have caught it. Creating a
   * two-dimensional array enters the runtime; an empty one is cheapest, see docs/decisions/07. It
   * allocates 16 bytes of heap, so lookups use {@link #copyLine} and {@link #requireReadable}
   * instead.
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
   * Throws if the range is in a mapping and a page cannot be read. For ranges passed to JVM
   * intrinsics, such as checksums, that crash the process on such a page.
   *
   * @param probe its first byte is overwritten
   * @throws InternalError for an unreadable page, as the JVM does
   */
  void requireReadable(long offset, long count, byte[] probe) {
    checkRange(offset, count);
    if (isMapping()) {
      PageProbe.require(address + offset, count, probe);
    }
  }

  /**
   * Copies 64 bytes within one page, as words in the order of {@link #getLong}. For code that
   * interprets bytes not covered by a checksum without calling {@link #requirePagesRead}
   * afterwards.
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
    for (int i = 0; BIG_ENDIAN && i < LINE_LONGS; i++) {
      target[i] = Long.reverseBytes(target[i]);
    }
  }

  private boolean isUnchanged(long offset, long[] target, long filler) {
    target[0] = filler;
    UNSAFE.copyMemory(null, address + offset, target, LONGS_BASE, CACHE_LINE_BYTES);
    return target[0] == filler;
  }

  /** Whether this is a mapping rather than allocated memory. */
  public boolean isMapping() {
    return purpose == null;
  }

  public byte getByte(long offset) {
    check(offset, 1);
    return UNSAFE.getByte(address + offset);
  }

  public void putByte(long offset, byte value) {
    check(offset, 1);
    UNSAFE.putByte(address + offset, value);
  }

  public int getInt(long offset) {
    check(offset, 4);
    int value = UNSAFE.getInt(address + offset);
    return BIG_ENDIAN ? Integer.reverseBytes(value) : value;
  }

  public void putInt(long offset, int value) {
    check(offset, 4);
    UNSAFE.putInt(address + offset, BIG_ENDIAN ? Integer.reverseBytes(value) : value);
  }

  public long getLong(long offset) {
    check(offset, 8);
    long value = UNSAFE.getLong(address + offset);
    return BIG_ENDIAN ? Long.reverseBytes(value) : value;
  }

  public void putLong(long offset, long value) {
    check(offset, 8);
    UNSAFE.putLong(address + offset, BIG_ENDIAN ? Long.reverseBytes(value) : value);
  }

  /**
   * Volatile read. {@code offset} and the address of the region must be multiples of eight: not
   * every processor reads an unaligned long atomically.
   */
  public long getLongVolatile(long offset) {
    check(offset, 8);
    long value = UNSAFE.getLongVolatile(null, address + offset);
    return BIG_ENDIAN ? Long.reverseBytes(value) : value;
  }

  /** Volatile read; {@code offset} must be a multiple of four. */
  public int getIntVolatile(long offset) {
    check(offset, 4);
    int value = UNSAFE.getIntVolatile(null, address + offset);
    return BIG_ENDIAN ? Integer.reverseBytes(value) : value;
  }

  /** A volatile read of the value also sees everything written before it. */
  public void putIntRelease(long offset, int value) {
    check(offset, 4);
    UNSAFE.putOrderedInt(null, address + offset, BIG_ENDIAN ? Integer.reverseBytes(value) : value);
  }

  /**
   * A volatile read of the value also sees everything written before it. Alignment as for {@link
   * #getLongVolatile}.
   */
  public void putLongRelease(long offset, long value) {
    check(offset, 8);
    UNSAFE.putOrderedLong(null, address + offset, BIG_ENDIAN ? Long.reverseBytes(value) : value);
  }

  /** The first bytes of a key, at most eight, as a number with the same unsigned order. */
  public long keyPrefix(long offset, int keyLength) {
    checkRange(offset, keyLength);
    if (keyLength >= 8) {
      return bigEndian(UNSAFE.getLong(address + offset));
    }
    long prefix = 0;
    for (int i = 0; i < keyLength; i++) {
      prefix |= (UNSAFE.getByte(address + offset + i) & 0xffL) << (56 - 8 * i);
    }
    return prefix;
  }

  public void get(long offset, byte[] target, int targetIndex, int count) {
    checkRange(offset, count);
    checkArray(target, targetIndex, count);
    UNSAFE.copyMemory(null, address + offset, target, BYTES_BASE + targetIndex, count);
  }

  /** As {@link #get}, faster for few bytes: copies up to seven more if both sides have them. */
  public void getFew(long offset, byte[] target, int targetIndex, int count) {
    if ((offset | targetIndex | count) < 0
        || count > LOOP_BYTES_MAX
        || length - offset < count + 7
        || target.length - targetIndex < count + 7) {
      get(offset, target, targetIndex, count);
      return;
    }
    long from = address + offset;
    long to = BYTES_BASE + targetIndex;
    for (int i = 0; i < count; i += 8) {
      UNSAFE.putLong(target, to + i, UNSAFE.getLong(from + i));
    }
  }

  public byte[] getBytes(long offset, int count) {
    checkRange(offset, count);
    byte[] bytes = new byte[count];
    UNSAFE.copyMemory(null, address + offset, bytes, BYTES_BASE, count);
    return bytes;
  }

  public void put(long offset, byte[] source, int sourceIndex, int count) {
    checkRange(offset, count);
    checkArray(source, sourceIndex, count);
    UNSAFE.copyMemory(source, BYTES_BASE + sourceIndex, null, address + offset, count);
  }

  /** Copies from another region; the ranges must not overlap. */
  public void put(long offset, Region source, long sourceOffset, long count) {
    checkRange(offset, count);
    source.checkRange(sourceOffset, count);
    UNSAFE.copyMemory(source.address + sourceOffset, address + offset, count);
  }

  /**
   * Copies from native memory for which the caller is responsible, such as a user's off-heap bytes,
   * possibly in a mapping. Probed first, because copying an unreadable page would leave the old
   * bytes of the target.
   *
   * @throws InternalError as {@link #requireReadable} does
   */
  public void putNative(long offset, long sourceAddress, long count) {
    checkRange(offset, count);
    PageProbe.require(sourceAddress, count, address + offset);
    UNSAFE.copyMemory(sourceAddress, address + offset, count);
  }

  /** Copies to native memory for which the caller is responsible. */
  public void getNative(long offset, long targetAddress, long count) {
    checkRange(offset, count);
    UNSAFE.copyMemory(address + offset, targetAddress, count);
  }

  public void fill(long offset, long count, byte value) {
    checkRange(offset, count);
    UNSAFE.setMemory(address + offset, count, value);
  }

  /** Compares two keys as unsigned bytes; a prefix precedes its extensions. */
  public static int compare(
      Region a, long aOffset, int aLength, Region b, long bOffset, int bLength) {
    a.checkRange(aOffset, aLength);
    b.checkRange(bOffset, bLength);
    long aStart = a.address + aOffset;
    long bStart = b.address + bOffset;
    int common = Math.min(aLength, bLength);
    int i = 0;
    for (; i + 8 <= common; i += 8) {
      long x = UNSAFE.getLong(aStart + i);
      long y = UNSAFE.getLong(bStart + i);
      if (x != y) {
        return Long.compareUnsigned(bigEndian(x), bigEndian(y));
      }
    }
    for (; i < common; i++) {
      int x = UNSAFE.getByte(aStart + i) & 0xff;
      int y = UNSAFE.getByte(bStart + i) & 0xff;
      if (x != y) {
        return x - y;
      }
    }
    return aLength - bLength;
  }

  /** Compares a key here to one on the heap, as {@link #compare}. */
  public int compareTo(long offset, int keyLength, byte[] key) {
    checkRange(offset, keyLength);
    long start = address + offset;
    int common = Math.min(keyLength, key.length);
    for (int i = 0; i < common; i++) {
      int x = UNSAFE.getByte(start + i) & 0xff;
      int y = key[i] & 0xff;
      if (x != y) {
        return x - y;
      }
    }
    return keyLength - key.length;
  }

  /** Whether the bytes here equal the first {@code count} bytes of an array. */
  public boolean holds(long offset, byte[] bytes, int count) {
    checkRange(offset, count);
    checkArray(bytes, 0, count);
    long start = address + offset;
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      if (UNSAFE.getLong(start + i) != UNSAFE.getLong(bytes, BYTES_BASE + i)) {
        return false;
      }
    }
    while (i < count && UNSAFE.getByte(start + i) == bytes[i]) {
      i++;
    }
    return i == count;
  }

  /** Length of the common prefix of two byte ranges. */
  public static int commonPrefix(
      Region a, long aOffset, int aLength, Region b, long bOffset, int bLength) {
    a.checkRange(aOffset, aLength);
    b.checkRange(bOffset, bLength);
    long aStart = a.address + aOffset;
    long bStart = b.address + bOffset;
    int common = Math.min(aLength, bLength);
    int i = 0;
    for (; i + 8 <= common; i += 8) {
      long difference = UNSAFE.getLong(aStart + i) ^ UNSAFE.getLong(bStart + i);
      if (difference != 0) {
        return i + Long.numberOfLeadingZeros(bigEndian(difference)) / 8;
      }
    }
    while (i < common && UNSAFE.getByte(aStart + i) == UNSAFE.getByte(bStart + i)) {
      i++;
    }
    return i;
  }

  /** Points a buffer from {@link #newWindow} at a range of this region. */
  void aim(ByteBuffer window, long offset, int count) {
    checkRange(offset, count);
    UNSAFE.putLong(window, BUFFER_ADDRESS, address + offset);
    window.limit(count).position(0);
  }

  /**
   * A buffer for {@link #aim}, for JDK calls that take only buffers. It must not leave the classes
   * of this package and the I/O calls of their direct callers.
   */
  static ByteBuffer newWindow() {
    ByteBuffer window = WINDOW_BASE.slice();
    UNSAFE.putInt(window, BUFFER_CAPACITY, Integer.MAX_VALUE);
    return window;
  }

  private void check(long offset, int count) {
    // Cannot overflow: the length is never negative, and neither is the offset at that point.
    if (offset < 0 || length - offset < count) {
      throw outOfBounds(offset, count);
    }
  }

  private void checkRange(long offset, long count) {
    if ((offset | count) < 0 || length - offset < count) {
      throw outOfBounds(offset, count);
    }
  }

  private static void checkArray(byte[] array, int index, int count) {
    if ((index | count) < 0 || array.length - index < count) {
      throw new IndexOutOfBoundsException(
          "index=" + index + ", count=" + count + ", array.length=" + array.length);
    }
  }

  private IndexOutOfBoundsException outOfBounds(long offset, long count) {
    return new IndexOutOfBoundsException(
        "offset=" + offset + ", count=" + count + ", region.length=" + length);
  }

  private static long bigEndian(long inMemoryOrder) {
    return BIG_ENDIAN ? inMemoryOrder : Long.reverseBytes(inMemoryOrder);
  }

  private static long fieldOffset(String name) {
    try {
      return UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField(name));
    } catch (NoSuchFieldException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
