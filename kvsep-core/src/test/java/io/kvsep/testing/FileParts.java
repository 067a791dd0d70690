package io.kvsep.testing;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * What a file of a store is made of: the parts that have a checksum, and where parts begin and end.
 * Read by what docs/formats says of the files, and not by the code that is tested, so that a part
 * can be changed and sealed again as if it had been written so. What is not as described there ends
 * the list.
 */
public final class FileParts {
  public static final int HEADER_BYTES = 40;
  static final int FRAME_BYTES = 32;
  private static final int STORE_AT = 12;
  private static final int NUMBER_AT = 28;
  private static final int FRAME_MAGIC = 0x3146564b;
  private static final int RELOCATED_FOOTER_BYTES = 40;
  private static final int TABLE_FOOTER_BYTES = 52;
  private static final int TABLE_RECORD_BYTES = 16;
  private static final long GOLDEN = 0x9e3779b97f4a7c15L;

  private final byte[] bytes;
  private final List<Part> parts = new ArrayList<>();
  private final NavigableSet<Integer> boundaries = new TreeSet<>();

  /**
   * Bytes under a checksum.
   *
   * @param kind what they are
   * @param to behind the last of them
   * @param seal puts the right checksum into the changed bytes of the file, and into what has a
   *     checksum over that
   */
  public record Part(String kind, int from, int to, Consumer<byte[]> seal) {}

  private FileParts(byte[] bytes) {
    this.bytes = bytes;
  }

  public static FileParts of(byte[] bytes) {
    FileParts found = new FileParts(bytes);
    try {
      found.read();
    } catch (IndexOutOfBoundsException | ArithmeticException e) {
      // The rest is no part of anything.
    }
    return found;
  }

  public List<Part> parts() {
    return parts;
  }

  /** Offsets at which something begins or ends, 0 and the file's length among them. */
  public NavigableSet<Integer> boundaries() {
    return boundaries;
  }

  private void read() {
    boundaries.add(0);
    boundaries.add(bytes.length);
    if (bytes.length < HEADER_BYTES) {
      return;
    }
    add("header", 0, HEADER_BYTES - 4, b -> putInt(b, HEADER_BYTES - 4, crc(b, 0, 36)));
    boundaries.add(HEADER_BYTES);
    switch (magic(bytes)) {
      case "KVSEPLOG" -> readSegment();
      case "KVSEPREL" -> readRelocated();
      case "kvsepsst" -> readTable();
      case "KVSEPMAN" -> readManifest();
      default -> {}
    }
  }

  private void add(String kind, int from, int to, Consumer<byte[]> seal) {
    if (from < 0 || from >= to || to > bytes.length) {
      return;
    }
    parts.add(new Part(kind, from, to, seal));
    boundaries.add(from);
    boundaries.add(to);
  }

  private void readSegment() {
    for (int[] frame : frames(bytes)) {
      int from = frame[0];
      add("frame", from + 4, from + FRAME_BYTES, b -> sealFrame(b, from));
      readRecords(from + FRAME_BYTES, frame[1]);
    }
  }

  private void readRecords(int from, int to) {
    for (int at = from; at < to; ) {
      int begin = at;
      at = recordEnd(bytes, begin);
      int end = at;
      add("record", begin, end - 4, b -> sealRecord(b, begin, end));
    }
  }

  private void readRelocated() {
    int footer = bytes.length - RELOCATED_FOOTER_BYTES;
    int recordsEnd = Math.toIntExact(getLong(bytes, footer + 8));
    int relocationsEnd = Math.toIntExact(getLong(bytes, footer + 16));
    Consumer<byte[]> seal = b -> putInt(b, footer + 36, crc(b, footer, footer + 36));
    Consumer<byte[]> sealTables =
        b -> {
          putInt(b, footer + 28, crc(b, recordsEnd, footer));
          seal.accept(b);
        };
    add("footer", footer, footer + 36, seal);
    add("relocations", recordsEnd, relocationsEnd, sealTables);
    add("directory", relocationsEnd, footer, sealTables);
    readRecords(HEADER_BYTES, recordsEnd);
  }

  private void readTable() {
    long number = mix(number(bytes) + GOLDEN);
    long salt = mix(getLong(bytes, STORE_AT) ^ mix(getLong(bytes, STORE_AT + 8) ^ number));
    int footer = bytes.length - TABLE_FOOTER_BYTES;
    Consumer<byte[]> seal = b -> putInt(b, footer + 48, crc(b, footer, footer + 48, salt));
    add("footer", footer, footer + 48, seal);
    String[] sections = {"filter", "index", "properties"};
    for (int i = 0; i < sections.length; i++) {
      int place = footer + 12 * i;
      int from = getInt(bytes, place);
      int to = from + getInt(bytes, place + 4);
      Consumer<byte[]> sealSection =
          b -> {
            putInt(b, place + 8, crc(b, from, to, salt));
            seal.accept(b);
          };
      add(sections[i], from, to, sealSection);
    }
    readBlocks(getInt(bytes, footer + 12), getInt(bytes, footer + 16), salt);
  }

  private void readBlocks(int index, int indexBytes, long salt) {
    int count = getInt(bytes, index + indexBytes - 8);
    int records = index + (-index & 127);
    for (int i = 0; i < count; i++) {
      int from = getInt(bytes, records + TABLE_RECORD_BYTES * i + 12);
      int to = getInt(bytes, records + TABLE_RECORD_BYTES * (i + 1) + 12);
      String kind = getInt(bytes, to - 8) == 0x80000000 ? "packed block" : "block";
      Consumer<byte[]> seal = b -> putInt(b, to - 4, crc(b, from, to - 4, salt));
      add(kind, from, to - 4, seal);
      add("end of a " + kind, Math.max(from, to - 16), to - 4, seal);
    }
  }

  private void readManifest() {
    int at = HEADER_BYTES;
    while (at + 8 <= bytes.length && getInt(bytes, at) > 0) {
      int record = at;
      int end = Math.addExact(record + 8, getInt(bytes, record));
      if (end > bytes.length) {
        return;
      }
      add("edit", record + 8, end, b -> sealEdit(b, record, end));
      at = end;
    }
  }

  static String magic(byte[] file) {
    return new String(file, 0, Math.min(8, file.length), ISO_8859_1);
  }

  /** Of a table, a manifest or a file of the log. */
  static long number(byte[] file) {
    return getLong(file, NUMBER_AT);
  }

  /** Where the frames of a segment begin and end. */
  static List<int[]> frames(byte[] segment) {
    List<int[]> frames = new ArrayList<>();
    int at = HEADER_BYTES;
    while (at + FRAME_BYTES <= segment.length && getInt(segment, at + 4) == FRAME_MAGIC) {
      int end = Math.addExact(at + FRAME_BYTES, getInt(segment, at + 8));
      frames.add(new int[] {at, end});
      at = end;
    }
    return frames;
  }

  /** Where the record that begins there ends. */
  static int recordEnd(byte[] file, int at) {
    int kind = file[at] & 0xff;
    Varints numbers = new Varints(file, at + 1);
    long length = numbers.next();
    if ((kind & 0xf) != 1) {
      length += numbers.next();
      if ((kind & 0x20) != 0) {
        numbers.next();
      }
    }
    length += (kind & 0x10) == 0 ? 0 : 8;
    return Math.toIntExact(numbers.position() + length + 4);
  }

  static void sealFrame(byte[] file, int at) {
    putInt(file, at, crc(file, at + 4, at + FRAME_BYTES) ^ place(number(file), at));
  }

  static void sealRecord(byte[] file, int from, int to) {
    putInt(file, to - 4, crc(file, from, to - 4) ^ place(number(file), from));
  }

  /** One of the manifest, from its length on. */
  static void sealEdit(byte[] file, int at, int end) {
    putInt(file, at + 4, crc(file, at + 8, end) ^ place(number(file), at));
  }

  static int place(long file, long offset) {
    long hash = (file * GOLDEN ^ offset) * 0xbf58476d1ce4e5b9L;
    return (int) (hash ^ hash >>> 32);
  }

  private static long mix(long value) {
    long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
    return mixed ^ mixed >>> 31;
  }

  /** Of no bytes where a forged length leads out of the file. */
  static int crc(byte[] file, int from, int to) {
    CRC32C crc = new CRC32C();
    if (from >= 0 && from <= to && to <= file.length) {
      crc.update(file, from, to - from);
    }
    return (int) crc.getValue();
  }

  private static int crc(byte[] file, int from, int to, long salt) {
    return crc(file, from, to) ^ (int) (mix(salt + from * GOLDEN) >>> 32);
  }

  static int getInt(byte[] file, int at) {
    return buffer(file).getInt(at);
  }

  static long getLong(byte[] file, int at) {
    return buffer(file).getLong(at);
  }

  static void putInt(byte[] file, int at, int value) {
    buffer(file).putInt(at, value);
  }

  static void putLong(byte[] file, int at, long value) {
    buffer(file).putLong(at, value);
  }

  private static ByteBuffer buffer(byte[] file) {
    return ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
  }
}
