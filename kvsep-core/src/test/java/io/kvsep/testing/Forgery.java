package io.kvsep.testing;

import java.util.Arrays;
import java.util.Random;

/**
 * A file with other contents under right checksums.
 *
 * @param what is other, in words
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Forgery(String what, byte[] bytes) {
  /** Numbers at which something ends or overflows, or that are lengths of headers. */
  private static final long[] EXTREMES = {
    0,
    1,
    2,
    39,
    40,
    41,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    200_000_000,
    300_000_000,
    (1 << 30) - 1,
    1 << 30,
    0x7fffffffL,
    0x80000000L,
    0xffffffffL,
    0x7ffffffffL,
    1L << 40,
    1L << 62,
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    -1
  };

  static long extreme(Random random) {
    return EXTREMES[random.nextInt(EXTREMES.length)];
  }

  /** Changes bytes of one part, wherever they lie, and seals it. */
  static Forgery ofPart(byte[] sound, Random random) {
    byte[] bytes = sound.clone();
    StringBuilder what = new StringBuilder();
    for (int i = random.nextInt(2); i >= 0; i--) {
      what.append(change(bytes, random));
    }
    return new Forgery(what.toString(), bytes);
  }

  private static String change(byte[] bytes, Random random) {
    var parts = FileParts.of(bytes).parts();
    if (parts.isEmpty()) {
      return "";
    }
    // Each kind as often as the others, however many there are.
    String[] kinds = parts.stream().map(FileParts.Part::kind).distinct().toArray(String[]::new);
    String kind = kinds[random.nextInt(kinds.length)];
    var ofKind = parts.stream().filter(part -> part.kind().equals(kind)).toList();
    FileParts.Part part = ofKind.get(random.nextInt(ofKind.size()));
    int length = part.to() - part.from();
    int at = part.from() + random.nextInt(random.nextBoolean() ? length : Math.min(length, 24));
    int left = part.to() - at;
    int how = random.nextInt(6);
    switch (how) {
      case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
      case 1 -> bytes[at] = (byte) random.nextInt(256);
      case 2 -> put(bytes, at, left, fixed(extreme(random), 4));
      case 3 -> put(bytes, at, left, fixed(extreme(random), 8));
      case 4 -> put(bytes, at, left, Varints.of(extreme(random)));
      default -> {
        int from = part.from() + random.nextInt(length);
        int count = 1 + random.nextInt(Math.min(part.to() - from, 40));
        put(bytes, at, left, Arrays.copyOfRange(bytes, from, from + count));
      }
    }
    part.seal().accept(bytes);
    return "; " + part.kind() + " from " + part.from() + ", change " + how + " at " + at;
  }

  private static void put(byte[] bytes, int at, int left, byte[] changed) {
    System.arraycopy(changed, 0, bytes, at, Math.min(left, changed.length));
  }

  private static byte[] fixed(long number, int length) {
    byte[] bytes = new byte[8];
    FileParts.putLong(bytes, 0, number);
    return Arrays.copyOf(bytes, length);
  }
}
