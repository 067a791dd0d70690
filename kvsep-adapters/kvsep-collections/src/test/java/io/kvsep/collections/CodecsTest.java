package io.kvsep.collections;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class CodecsTest {
  private static final int SEEDS = 20;
  private static final int VALUES = 30;

  private record Pair(String name, Integer number) {}

  private record Triple(byte[] bytes, String text, Double number) {}

  private record Quadruple(Integer a, Pair b, Optional<String> c, String d) {}

  private record UserId(long number) {}

  private static final Codec<Pair> PAIR =
      Codecs.tuple(Codecs.string(), Pair::name, Codecs.int32(), Pair::number, Pair::new);

  private static final Comparator<Pair> PAIR_ORDER =
      Comparator.comparing(Pair::name).thenComparing(Pair::number);

  private static final Codec<Triple> TRIPLE =
      Codecs.tuple(
          Codecs.plainBytes(),
          Triple::bytes,
          Codecs.reversed(Codecs.string()),
          Triple::text,
          Codecs.float64(),
          Triple::number,
          Triple::new);

  private static final Comparator<Triple> TRIPLE_ORDER =
      Comparator.comparing(Triple::bytes, Arrays::compareUnsigned)
          .thenComparing(Triple::text, Comparator.reverseOrder())
          .thenComparing(Triple::number);

  private static final Codec<Quadruple> QUADRUPLE =
      Codecs.tuple(
          Codecs.int32(),
          Quadruple::a,
          Codecs.reversed(PAIR),
          Quadruple::b,
          Codecs.optional(Codecs.string()),
          Quadruple::c,
          Codecs.plainString(),
          Quadruple::d,
          Quadruple::new);

  private static final Comparator<Quadruple> QUADRUPLE_ORDER =
      Comparator.comparing(Quadruple::a)
          .thenComparing(Quadruple::b, PAIR_ORDER.reversed())
          .thenComparing(Quadruple::c, CodecsTest::compareOptional)
          .thenComparing(Quadruple::d, CodecsTest::compareCodePoints);

  /** A codec, its order as told without it, and values. */
  private record Subject<T>(
      String name, Codec<T> codec, Comparator<? super T> order, Function<Random, T> draw) {}

  private static final List<Subject<?>> SUBJECTS =
      List.of(
          new Subject<>("bool", Codecs.bool(), Boolean::compare, Random::nextBoolean),
          new Subject<>("int32", Codecs.int32(), Integer::compare, CodecsTest::drawInt),
          new Subject<>("int64", Codecs.int64(), Long::compare, CodecsTest::drawLong),
          new Subject<>("float64", Codecs.float64(), Double::compare, CodecsTest::drawDouble),
          new Subject<>("string", Codecs.string(), String::compareTo, CodecsTest::drawString),
          new Subject<>("bytes", Codecs.bytes(), Arrays::compareUnsigned, CodecsTest::drawBytes),
          new Subject<>(
              "plainString",
              Codecs.plainString(),
              CodecsTest::compareCodePoints,
              CodecsTest::drawPairedString),
          new Subject<>(
              "plainBytes", Codecs.plainBytes(), Arrays::compareUnsigned, CodecsTest::drawBytes),
          new Subject<>("instant", Codecs.instant(), Instant::compareTo, CodecsTest::drawInstant),
          new Subject<>(
              "uuid",
              Codecs.uuid(),
              UUID::compareTo,
              random -> new UUID(drawLong(random), drawLong(random))),
          new Subject<>(
              "enums",
              Codecs.enums(TimeUnit.class),
              Comparator.comparing(TimeUnit::name),
              random -> TimeUnit.values()[random.nextInt(TimeUnit.values().length)]),
          new Subject<>(
              "optional",
              Codecs.optional(Codecs.string()),
              CodecsTest::compareOptional,
              random ->
                  random.nextInt(4) == 0 ? Optional.empty() : Optional.of(drawString(random))),
          new Subject<>(
              "reversed",
              Codecs.reversed(Codecs.plainBytes()),
              (a, b) -> Arrays.compareUnsigned(b, a),
              CodecsTest::drawBytes),
          new Subject<>(
              "mapped",
              Codecs.int64().mapped(UserId::new, UserId::number),
              Comparator.comparing(UserId::number),
              random -> new UserId(drawLong(random))),
          new Subject<>("pair", PAIR, PAIR_ORDER, CodecsTest::drawPair),
          new Subject<>(
              "triple",
              TRIPLE,
              TRIPLE_ORDER,
              random -> new Triple(drawBytes(random), drawString(random), drawDouble(random))),
          new Subject<>(
              "quadruple",
              QUADRUPLE,
              QUADRUPLE_ORDER,
              random ->
                  new Quadruple(
                      drawInt(random),
                      drawPair(random),
                      Optional.of(drawString(random)).filter(text -> random.nextBoolean()),
                      drawPairedString(random))));

  @Test
  void orderOfBytesIsOrderOfValues() {
    Seeds.each(
        CodecsTest.class,
        SEEDS,
        random -> SUBJECTS.forEach(subject -> assertOrdered(subject, random)));
  }

  @Test
  void valuesRoundTrip() {
    Seeds.each(
        CodecsTest.class,
        SEEDS,
        random -> SUBJECTS.forEach(subject -> assertRoundTrip(subject, random)));
  }

  /** What decodes is the encoding of what was decoded; everything else throws. */
  @Test
  void damagedBytesThrowOrAreAnotherEncoding() {
    Seeds.each(
        CodecsTest.class,
        SEEDS,
        random -> SUBJECTS.forEach(subject -> assertNothingElseDecodes(subject, random)));
  }

  @Test
  void naturalOrderIsToldAsNull() {
    for (Codec<?> natural :
        List.of(
            Codecs.bool(),
            Codecs.int32(),
            Codecs.int64(),
            Codecs.float64(),
            Codecs.string(),
            Codecs.instant(),
            Codecs.uuid())) {
      assertNull(natural.comparator());
    }
    assertTrue(Codecs.plainString().comparator() != null);
  }

  @Test
  void formatsAreThoseOfTheTable() {
    assertEncoded("01", Codecs.bool(), true);
    assertEncoded("7fffffff", Codecs.int32(), -1);
    assertEncoded("8000000000000001", Codecs.int64(), 1L);
    assertEncoded("bff0000000000000", Codecs.float64(), 1.0);
    assertEncoded("400fffffffffffff", Codecs.float64(), -1.0);
    assertEncoded("7fffffffffffffff", Codecs.float64(), -0.0);
    assertEncoded("fff8000000000000", Codecs.float64(), Double.NaN);
    assertEncoded("00", Codecs.string(), "");
    assertEncoded("6101010102c3a900", Codecs.string(), "a\0\1é");
    assertEncoded("eda0bdedb88000", Codecs.string(), "\ud83d\ude00");
    assertEncoded("eda0bd00", Codecs.string(), "\ud83d");
    assertEncoded("0101ff00", Codecs.bytes(), new byte[] {0, -1});
    assertEncoded("80000000000000010000000a", Codecs.instant(), Instant.ofEpochSecond(1, 10));
    assertEncoded("80000000000000018000000000000002", Codecs.uuid(), new UUID(1, 2));
    assertEncoded("4441595300", Codecs.enums(TimeUnit.class), TimeUnit.DAYS);
    assertEncoded("00", Codecs.optional(Codecs.int32()), Optional.empty());
    assertEncoded("0180000001", Codecs.optional(Codecs.int32()), Optional.of(1));
    assertEncoded("7ffffffe", Codecs.reversed(Codecs.int32()), 1);
    assertEncoded("610080000001", PAIR, new Pair("a", 1));
    assertEncoded("f09f9880", Codecs.plainString(), "\ud83d\ude00");
    assertEncoded("", Codecs.plainBytes(), new byte[0]);
  }

  @Test
  void malformedBytesThrow() {
    assertRefused(Codecs.bool(), "", "02", "80", "ff", "0000");
    assertRefused(Codecs.int32(), "", "000000", "0000000000");
    assertRefused(Codecs.int64(), "00000000000000");
    assertRefused(Codecs.float64(), "", "fff8000000000001", "0007ffffffffffff");
    assertRefused(Codecs.string(), "", "61", "01", "0100", "0103", "0101", "6100ff");
    assertRefused(
        Codecs.string(), "8000", "c300", "c3c300", "c1a100", "e08080 00", "eda000", "f000");
    assertRefused(Codecs.plainString(), "c0", "eda0bd", "ff");
    assertRefused(Codecs.instant(), "00", "80000000000000003b9aca00", "8000000000000000ffffffff");
    assertRefused(Codecs.instant(), "ffffffffffffffff00000000");
    assertRefused(Codecs.uuid(), "800000000000000180000000000000");
    assertRefused(Codecs.enums(TimeUnit.class), "00", "4441595a00");
    assertRefused(Codecs.optional(Codecs.int32()), "", "01", "02", "0180");
    assertRefused(Codecs.reversed(Codecs.string()), "", "9e", "00");
    assertRefused(PAIR, "", "61", "6100", "610080000001ff");
  }

  @Test
  void unpairedSurrogatesHaveNoPlainEncoding() {
    assertThrows(IllegalArgumentException.class, () -> Codecs.plainString().encode("\ud83d"));
  }

  @Test
  void encodedPrefixOfTupleIsThatOfItsComponents() {
    byte[] prefix = Codecs.string().encode("ada");
    assertTrue(startsWith(PAIR.encode(new Pair("ada", 7)), prefix));
    assertFalse(startsWith(PAIR.encode(new Pair("adam", 7)), prefix));
    assertFalse(startsWith(PAIR.encode(new Pair("ada\0", 7)), prefix));
  }

  private static <T> void assertOrdered(Subject<T> subject, Random random) {
    List<T> values = values(subject, random);
    Comparator<? super T> told = subject.codec().comparator();
    for (T a : values) {
      for (T b : values) {
        int expected = Integer.signum(subject.order().compare(a, b));
        int found = Arrays.compareUnsigned(subject.codec().encode(a), subject.codec().encode(b));
        assertEquals(expected, Integer.signum(found), () -> subject.name() + ": " + a + ", " + b);
        if (told != null) {
          assertEquals(expected, Integer.signum(told.compare(a, b)), subject::name);
        }
      }
    }
  }

  private static <T> void assertRoundTrip(Subject<T> subject, Random random) {
    Codec<T> codec = subject.codec();
    for (T value : values(subject, random)) {
      byte[] encoded = codec.encode(value);
      T decoded = codec.decode(encoded);
      assertEquals(0, subject.order().compare(value, decoded), subject::name);
      if (codec.isSelfDelimiting()) {
        ByteBuffer in = ByteBuffer.wrap(Arrays.copyOf(encoded, encoded.length + 3));
        assertEquals(0, subject.order().compare(value, codec.decode(in)), subject::name);
        assertEquals(3, in.remaining(), subject::name);
        assertTrue(encoded.length > 0, subject::name);
      }
    }
  }

  private static <T> void assertNothingElseDecodes(Subject<T> subject, Random random) {
    for (T value : values(subject, random)) {
      byte[] encoded = subject.codec().encode(value);
      byte[] damaged = Arrays.copyOf(encoded, Math.max(0, encoded.length + random.nextInt(3) - 1));
      if (damaged.length > 0) {
        damaged[random.nextInt(damaged.length)] = (byte) drawInt(random).intValue();
      }
      T decoded;
      try {
        decoded = subject.codec().decode(damaged);
      } catch (DecodeException e) {
        continue;
      }
      assertArrayEquals(
          damaged,
          subject.codec().encode(decoded),
          () -> subject.name() + ": " + HexFormat.of().formatHex(damaged));
    }
  }

  private static <T> List<T> values(Subject<T> subject, Random random) {
    List<T> values = new ArrayList<>();
    for (int i = 0; i < VALUES; i++) {
      values.add(subject.draw().apply(random));
    }
    return values;
  }

  private static <T> void assertEncoded(String hex, Codec<T> codec, T value) {
    assertEquals(hex, HexFormat.of().formatHex(codec.encode(value)));
  }

  private static void assertRefused(Codec<?> codec, String... encodings) {
    for (String hex : encodings) {
      byte[] bytes = HexFormat.of().parseHex(hex.replace(" ", ""));
      assertThrows(DecodeException.class, () -> codec.decode(bytes), hex);
    }
  }

  private static boolean startsWith(byte[] bytes, byte[] prefix) {
    return bytes.length >= prefix.length && Arrays.mismatch(bytes, prefix) == prefix.length;
  }

  private static int compareOptional(Optional<String> a, Optional<String> b) {
    return a.isPresent() && b.isPresent()
        ? a.get().compareTo(b.get())
        : Boolean.compare(a.isPresent(), b.isPresent());
  }

  private static int compareCodePoints(String a, String b) {
    return Arrays.compare(a.codePoints().toArray(), b.codePoints().toArray());
  }

  private static Integer drawInt(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> random.nextInt();
      case 1 -> Integer.MIN_VALUE + random.nextInt(2);
      case 2 -> Integer.MAX_VALUE - random.nextInt(2);
      default -> random.nextInt(7) - 3;
    };
  }

  private static Long drawLong(Random random) {
    return switch (random.nextInt(3)) {
      case 0 -> random.nextLong();
      case 1 -> (long) drawInt(random);
      default -> random.nextBoolean() ? Long.MIN_VALUE : Long.MAX_VALUE;
    };
  }

  private static Double drawDouble(Random random) {
    List<Double> special =
        List.of(
            0.0,
            -0.0,
            Double.NaN,
            Double.MIN_VALUE,
            -Double.MIN_VALUE,
            Double.MAX_VALUE,
            Double.NEGATIVE_INFINITY,
            Double.POSITIVE_INFINITY);
    return switch (random.nextInt(3)) {
      case 0 -> special.get(random.nextInt(special.size()));
      case 1 -> Double.longBitsToDouble(random.nextLong());
      default -> random.nextGaussian();
    };
  }

  /** Short strings of few characters, so that many are prefixes of others. */
  private static String drawString(Random random) {
    char[] alphabet = {0, 1, 2, 'a', 'b', 0x7f, 0x80, 0x7ff, 0x800, 0xd83d, 0xde00, 0xe000, 0xffff};
    char[] text = new char[random.nextInt(5)];
    for (int i = 0; i < text.length; i++) {
      text[i] = alphabet[random.nextInt(alphabet.length)];
    }
    return new String(text);
  }

  private static String drawPairedString(Random random) {
    return Stream.generate(() -> drawString(random))
        .filter(text -> StandardCharsets.UTF_8.newEncoder().canEncode(text))
        .findFirst()
        .orElseThrow();
  }

  private static byte[] drawBytes(Random random) {
    byte[] alphabet = {0, 1, 2, 'a', 0x7f, (byte) 0x80, (byte) 0xfe, (byte) 0xff};
    byte[] bytes = new byte[random.nextInt(5)];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = alphabet[random.nextInt(alphabet.length)];
    }
    return bytes;
  }

  private static Instant drawInstant(Random random) {
    return switch (random.nextInt(3)) {
      case 0 -> Instant.EPOCH.plus(Duration.ofNanos(random.nextLong()));
      case 1 -> random.nextBoolean() ? Instant.MIN : Instant.MAX;
      default -> Instant.ofEpochSecond(random.nextInt(3) - 1, random.nextInt(3));
    };
  }

  private static Pair drawPair(Random random) {
    return new Pair(drawString(random), drawInt(random));
  }
}
