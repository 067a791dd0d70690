package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * What the golden stores hold, by rule: keyspace, number of the key and round of writing give the
 * value. The rules belong to the files in {@code src/test/resources/golden} and never change; new
 * files with other content need rules of their own.
 */
final class GoldenContent {
  /** The clock while the stores were written. */
  static final long WRITTEN_MILLIS = 1_700_000_000_000L;

  /** The clock while they are read. */
  static final long READ_MILLIS = WRITTEN_MILLIS + 7_200_000;

  /** Passes between writing and reading. */
  static final long EXPIRED_MILLIS = WRITTEN_MILLIS + 3_600_000;

  /** In the year 2286. */
  static final long EXPIRES_MILLIS = 10_000_000_000_000L;

  static final int KEYS = 72;

  /** Keys that only the log of the crashed store has. */
  static final int LATE_KEYS = 16;

  static final String DEFAULT = "";
  static final String LOADED = "loaded";
  static final String LATE = "late";
  static final int LOADED_KEYS = 24;
  static final byte[] COUNTER = "counter".getBytes(ISO_8859_1);

  /** Written last in the store that was not closed. */
  static final byte[] LAST = "last".getBytes(ISO_8859_1);

  static final byte[] LONG = "long".getBytes(ISO_8859_1);

  /** Written by puts; the id of the second takes five bytes in each key. */
  static final String[] WRITTEN = {DEFAULT, "orders", "wide"};

  private static final int ABSENT = -1;

  private GoldenContent() {}

  /** An entry; {@code expiresAtMillis} is 0 for none. */
  record Entry(byte[] value, long expiresAtMillis) {}

  /** Some keys are long and have bytes that are no text. All ascend with their numbers. */
  static byte[] key(int i) {
    String tail = i % 10 == 9 ? "\0\u00ff" + "x".repeat(100) : "";
    return ("key-%04d".formatted(i) + tail).getBytes(ISO_8859_1);
  }

  /** Empty, short, long, compressible and incompressible ones. */
  static byte[] value(String keyspace, int i, int round) {
    if (i % 6 == 3) {
      return "value %d of round %d, ".formatted(i, round).repeat(8).getBytes(ISO_8859_1);
    }
    int[] lengths = {0, 20, 70, 0, 130, 64};
    byte[] value = new byte[lengths[i % 6]];
    new Random(31L * (31L * keyspace.hashCode() + i) + round).nextBytes(value);
    return value;
  }

  /** 0 for none. */
  static long expiresAtMillis(int i) {
    return switch (i % 11) {
      case 5 -> EXPIRED_MILLIS;
      case 6 -> EXPIRES_MILLIS;
      default -> 0;
    };
  }

  /** A value that is longer than a segment, unless it is compressed. */
  static byte[] longValue(int round) {
    return "long value of round %d, ".formatted(round).repeat(5_000).getBytes(ISO_8859_1);
  }

  static byte[] lastValue() {
    return value(DEFAULT, 4, 5);
  }

  /** The content of the store that was closed and of the complete backup. */
  static Map<String, TreeMap<byte[], Entry>> closed() {
    Map<String, TreeMap<byte[], Entry>> spaces = new HashMap<>();
    for (String keyspace : WRITTEN) {
      TreeMap<byte[], Entry> entries = entries(spaces, keyspace);
      for (int i = 0; i < KEYS; i++) {
        put(entries, keyspace, i, closedRound(i));
      }
      entries.put(COUNTER, counter(7));
    }
    for (int i = 0; i < LOADED_KEYS; i++) {
      entries(spaces, LOADED).put(key(i), new Entry(value(LOADED, i, 1), 0));
    }
    entries(spaces, DEFAULT).put(LONG, new Entry(longValue(1), 0));
    return spaces;
  }

  /** The content of the store that was not closed, and of the complete backup with the second. */
  static Map<String, TreeMap<byte[], Entry>> crashed() {
    Map<String, TreeMap<byte[], Entry>> spaces = closed();
    for (String keyspace : WRITTEN) {
      TreeMap<byte[], Entry> entries = entries(spaces, keyspace);
      entries.clear();
      for (int i = 0; i < KEYS + LATE_KEYS; i++) {
        put(entries, keyspace, i, crashedRound(i));
      }
      entries.put(COUNTER, counter(4));
    }
    for (int i = 0; i < KEYS; i++) {
      put(entries(spaces, LATE), LATE, i, 5);
    }
    entries(spaces, DEFAULT).put(LONG, new Entry(longValue(5), 0));
    entries(spaces, DEFAULT).put(LAST, new Entry(lastValue(), 0));
    return spaces;
  }

  private static int closedRound(int i) {
    if (i % 7 == 3) {
      return ABSENT;
    }
    if (i >= 45 && i < 60) {
      return i >= 53 && i < 56 ? 4 : ABSENT;
    }
    if (i % 5 == 1) {
      return 3;
    }
    return i % 3 == 0 ? 2 : 1;
  }

  private static int crashedRound(int i) {
    if (i % 13 == 4 || (i >= 30 && i < 40)) {
      return ABSENT;
    }
    return i >= KEYS || i % 4 == 2 ? 5 : closedRound(i);
  }

  private static void put(TreeMap<byte[], Entry> entries, String keyspace, int i, int round) {
    if (round != ABSENT && expiresAtMillis(i) != EXPIRED_MILLIS) {
      entries.put(key(i), new Entry(value(keyspace, i, round), expiresAtMillis(i)));
    }
  }

  private static TreeMap<byte[], Entry> entries(
      Map<String, TreeMap<byte[], Entry>> spaces, String keyspace) {
    return spaces.computeIfAbsent(keyspace, name -> new TreeMap<>(Arrays::compareUnsigned));
  }

  private static Entry counter(long count) {
    return new Entry(ByteBuffer.allocate(Long.BYTES).putLong(count).array(), 0);
  }
}
