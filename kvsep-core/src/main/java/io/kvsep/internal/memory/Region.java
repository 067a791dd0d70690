package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A run of off-heap or mapped bytes. Every access is checked against the region's length; the check
 * cannot be switched off, since a stray address would take the JVM down or worse. Multi-byte values
 * are little-endian whatever the platform.
 *
 * <p>Lifetime: {@link #free} gives the bytes back at once and leaves an empty region behind, so
 * that a late access fails its check. The owner must make sure that no other thread is inside an
 * access at that moment; regions readers share are freed through {@link Epochs}.
 *
 * <p>Thread safety: as plain memory. The {@code Volatile} and {@code Release} methods are for the
 * places that publish.
 */
public final class Region {
  private static final long BYTES_BASE = UNSAFE.arrayBaseOffset(byte[].class);
  private static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
  private static final ByteBuffer WINDOW_BASE = ByteBuffer.allocateDirect(8);
  private static final long BUFFER_ADDRESS = fieldOffset("address");
  private static final long BUFFER_CAPACITY = fieldOffset("capacity");

  private static final int CACHE_LINE_BYTES = 64;

  /** Up to here a loop costs less than a call that copies. */
  private static final int LOOP_BYTES_MAX = 64;

  /** No system has shorter pages. */
  private static final int PAGE_BYTES_MIN = 4096;

  /** From so many bytes on {@link #touchApart} does not do what {@link #touch} does. */
  public static final int APART_BYTES_MIN = PAGE_BYTES_MIN;

  /** As the loop in {@link #touchApart} has it. */
  private static final int TOUCHED_PARTS = 8;

  private static final long UNLIKELY_LONG = 0xa75c_39d1_6be4_028fL;

  /** Longs that {@link #copyLine} copies. */
  public static final int LINE_LONGS = CACHE_LINE_BYTES / 8;

  private static final long LONGS_BASE = UNSAFE.arrayBaseOffset(long[].class);

  /** Not final, so that no compiler knows the length. */
  private static int nothing = 0;

  private long address;
  private long length;
  private final @Nullable MemoryLedger ledger;
  private final @Nullable MemoryPurpose purpose;

  /** Whether views of the mapping may outlive the region. */
  private final boolean exposable;

  private @Nullable ByteBuffer mapping;

  /** The mapping as its views are cut from it. */
  private @Nullable ByteBuffer readOnly;

  /** Whether the mapping was handed out as a buffer whose lifetime nobody controls. */
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

  /**
   * Takes over {@code mapping}, a direct buffer as the storage returned it, from 0 to its limit.
   */
  public static Region ofMapping(ByteBuffer mapping) {
    return ofMapping(mapping, /* ledger= */ null, /* exposable= */ true);
  }

  /**
   * As above.
   *
   * @param ledger hears of the mapping when it outlives the region; null for nobody
   * @param exposable whether it may outlive the region
   */
  public static Region ofMapping(
      ByteBuffer mapping, @Nullable MemoryLedger ledger, boolean exposable) {
    if (!mapping.isDirect()) {
      throw new IllegalArgumentException("not a direct buffer");
    }
    return new Region(
        UNSAFE.getLong(mapping, BUFFER_ADDRESS), mapping.limit(), ledger, null, mapping, exposable);
  }

  /** Bytes in the region; 0 once it is freed. */
  public long length() {
    return length;
  }

  /**
   * Gives the bytes back. A mapping that was handed out by {@link #expose} is left to the garbage
   * collector instead, because somebody may still hold that buffer. Calling it again does nothing.
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

  /** Whether this is a mapping of which views can be handed out. */
  public boolean isExposable() {
    return mapping != null && exposable;
  }

  /**
   * Whether this is one of which a view should be handed out: not the first one while many others
   * wait for the garbage collector.
   */
  public boolean mayExpose() {
    return isExposable() && (exposed || ledger == null || !ledger.lingering().areMany());
  }

  /**
   * A read-only buffer over part of a mapping that stays valid as long as somebody holds it: from
   * now on the pages are unmapped by the garbage collector only.
   */
  public ByteBuffer expose(long offset, int count) {
    checkRange(offset, count);
    ByteBuffer source = readOnly;
    if (source == null || !exposable) {
      throw new IllegalStateException("only mappings can be exposed");
    }
    // Written once only: readers of one mapping would take its cache line from each other.
    if (!exposed) {
      exposed = true;
    }
    DeferredPageFaults.mayFollow();
    return source.slice((int) offset, count);
  }

  /**
   * Reads a byte of each cache line, so that all of them are on their way before the first is
   * needed.
   */
  public void touch(long offset, int count) {
    checkRange(offset, count);
    requireTouched(touch(address + offset, 0, count));
  }

  /**
   * As {@link #touch}, for a range whose neighbours were not read before it. In the order of its
   * lines a processor has but one or two pages in sight, and waits for the address of each anew; of
   * several pages eight parts are read side by side. Figures: docs/decisions/06.
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

  /** It always is, but a compiler that knew would leave out the reads. */
  private static void requireTouched(long sum) {
    if (sum == Long.MIN_VALUE) {
      throw new AssertionError(sum);
    }
  }

  /** Answers a question about a part of a mapping. The buffer must not be kept. */
  public boolean test(long offset, int count, Predicate<ByteBuffer> question) {
    checkRange(offset, count);
    ByteBuffer source = readOnly;
    if (source == null) {
      throw new IllegalStateException("not a mapping");
    }
    return question.test(source.slice((int) offset, count));
  }

  /**
   * Throws if a page of a mapping that was read before this call could not be: for those who draw
   * conclusions from bytes that no checksum covers, who keep a copy of them, or who are about to
   * say that they are damaged. Java goes on with bytes that are not those of the page, and a copy
   * leaves its target alone. It throws when this thread next comes back to Java code from the
   * runtime; from Java 25 on, when compiled code next returns, which may be far up the callers,
   * past those who would have caught the error. Making an array of two dimensions takes Java to its
   * runtime; one without elements costs least, see docs/decisions/07. That takes 16 bytes of the
   * heap, so lookups go by {@link #copyLine} and {@link #requireReadable} instead.
   *
   * @throws InternalError as Java does for such pages
   */
  public static void requirePagesRead() {
    byte[][] made = new byte[nothing][nothing];
    if (made.length != nothing) {
      throw new AssertionError("an array of another length");
    }
  }

  /**
   * Throws if a page of this range is one of a mapping and cannot be read: for those who hand the
   * range to code of the JVM that takes the whole process down at such a page, as its checksums do.
   *
   * @param probe where bytes are copied to
   * @throws InternalError as Java does for such pages
   */
  void requireReadable(long offset, long count, byte[] probe) {
    checkRange(offset, count);
    if (isMapping()) {
      PageProbe.require(address + offset, count, probe);
    }
  }

  /**
   * Copies 64 bytes that lie within a page, as words in the order of {@link #getLong}: for those
   * who draw conclusions from bytes that no checksum covers, and do not want to ask afterwards
   * whether they could be read, as {@link #requirePagesRead} does.
   *
   * @param target of at least {@link #LINE_LONGS}
   * @throws InternalError as Java does for pages that cannot be read
   */
  public void copyLine(long offset, long[] target) {
    checkRange(offset, CACHE_LINE_BYTES);
    Objects.checkFromIndexSize(0, LINE_LONGS, target.length);
    // No line begins with both, and most do not with the first.
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

  /** Whether this is a mapping rather than memory of our own. */
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
   * Reads with the effect of a volatile read; {@code offset} is a multiple of eight, and the region
   * begins at one: not every processor reads a long that is not aligned in one piece.
   */
  public long getLongVolatile(long offset) {
    check(offset, 8);
    long value = UNSAFE.getLongVolatile(null, address + offset);
    return BIG_ENDIAN ? Long.reverseBytes(value) : value;
  }

  /** Reads with the effect of a volatile read; {@code offset} is a multiple of four. */
  public int getIntVolatile(long offset) {
    check(offset, 4);
    int value = UNSAFE.getIntVolatile(null, address + offset);
    return BIG_ENDIAN ? Integer.reverseBytes(value) : value;
  }

  /** Whoever reads the value as a volatile sees all that was written before it. */
  public void putIntRelease(long offset, int value) {
    check(offset, 4);
    UNSAFE.putOrderedInt(null, address + offset, BIG_ENDIAN ? Integer.reverseBytes(value) : value);
  }

  /**
   * Whoever reads the value as a volatile sees all that was written before it. Aligned as for
   * {@link #getLongVolatile}.
   */
  public void putLongRelease(long offset, long value) {
    check(offset, 8);
    UNSAFE.putOrderedLong(null, address + offset, BIG_ENDIAN ? Long.reverseBytes(value) : value);
  }

  /** The first up to eight bytes of a key as one number that orders like the bytes (unsigned). */
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

  /**
   * As {@link #get}, faster for few bytes: where source and target have them, up to seven more are
   * copied.
   */
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

  /** Copies from another region; the two ranges must not overlap. */
  public void put(long offset, Region source, long sourceOffset, long count) {
    checkRange(offset, count);
    source.checkRange(sourceOffset, count);
    UNSAFE.copyMemory(source.address + sourceOffset, address + offset, count);
  }

  /**
   * Copies from native memory that the caller vouches for, such as a user's off-heap bytes. They
   * may lie in a mapping; what a page was not read of would else be what the target had before.
   *
   * @throws InternalError as {@link #requireReadable} does
   */
  public void putNative(long offset, long sourceAddress, long count) {
    checkRange(offset, count);
    PageProbe.require(sourceAddress, count, address + offset);
    UNSAFE.copyMemory(sourceAddress, address + offset, count);
  }

  /** Copies to native memory that the caller vouches for, such as a user's off-heap bytes. */
  public void getNative(long offset, long targetAddress, long count) {
    checkRange(offset, count);
    UNSAFE.copyMemory(address + offset, targetAddress, count);
  }

  public void fill(long offset, long count, byte value) {
    checkRange(offset, count);
    UNSAFE.setMemory(address + offset, count, value);
  }

  /** Orders two keys as unsigned bytes, a shorter one before its extensions. */
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

  /** Orders a key here against one on the heap, as {@link #compare}. */
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

  /** Whether the bytes here are the first {@code count} of an array. */
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

  /** Length of the common beginning of two byte runs. */
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

  /** Points a buffer made by {@link #newWindow} at a range of this region. */
  void aim(ByteBuffer window, long offset, int count) {
    checkRange(offset, count);
    UNSAFE.putLong(window, BUFFER_ADDRESS, address + offset);
    window.limit(count).position(0);
  }

  /**
   * A buffer that {@link #aim} can point anywhere, for the JDK calls that take nothing else. It
   * must never leave this package's own classes and their direct callers' I/O calls.
   */
  static ByteBuffer newWindow() {
    ByteBuffer window = WINDOW_BASE.slice();
    UNSAFE.putInt(window, BUFFER_CAPACITY, Integer.MAX_VALUE);
    return window;
  }

  private void check(long offset, int count) {
    // Neither side can wrap: a length is never negative, and an offset is not by then.
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
