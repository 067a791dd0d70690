package io.kvsep.collections;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Codecs of common types. All but {@link #plainString} and {@link #plainBytes} are ordered,
 * self-delimiting and never empty, so they suit keys and components of tuples. Each value has
 * exactly one encoding; decoding any other bytes throws {@link DecodeException}.
 *
 * <p>The formats, which do not change:
 *
 * <table>
 * <caption>Encodings; numbers are big-endian, bytes hexadecimal</caption>
 * <tr><th>codec</th><th>order</th><th>bytes</th></tr>
 * <tr><td>{@link #bool}</td><td>natural</td><td>00 for false, 01 for true</td></tr>
 * <tr><td>{@link #int32}, {@link #int64}</td><td>natural</td>
 *     <td>4 or 8 bytes, two's complement with the sign bit inverted</td></tr>
 * <tr><td>{@link #float64}</td><td>natural, that of {@link Double#compare}</td>
 *     <td>8 bytes of {@link Double#doubleToLongBits}, one NaN: with the sign bit set all bits are
 *     inverted, else the sign bit alone</td></tr>
 * <tr><td>{@link #string}</td><td>natural, that of {@link String#compareTo}</td>
 *     <td>each {@code char} in one to three bytes as UTF-8 has it, delimited. Characters beyond
 *     U+FFFF thus take six bytes (CESU-8); unpaired surrogates round-trip</td></tr>
 * <tr><td>{@link #bytes}</td><td>unsigned bytes</td><td>the bytes, delimited</td></tr>
 * <tr><td>{@link #instant}</td><td>natural</td>
 *     <td>seconds since the epoch as int64, nanoseconds in 4 bytes</td></tr>
 * <tr><td>{@link #uuid}</td><td>natural: both halves signed</td>
 *     <td>two numbers as int64, the most significant first</td></tr>
 * <tr><td>{@link #enums}</td><td>by name</td><td>the name as string</td></tr>
 * <tr><td>{@link #optional}</td><td>empty, then by value</td>
 *     <td>00 if empty; else 01 and the value's encoding</td></tr>
 * <tr><td>tuple</td><td>by component, the first decides first</td>
 *     <td>encodings of the components, one after the other</td></tr>
 * <tr><td>{@link #reversed}</td><td>descending</td><td>the value's encoding, all bits
 *     inverted</td></tr>
 * <tr><td>delimited</td><td>unsigned bytes</td><td>byte 00 becomes 01 01, byte 01 becomes 01 02;
 *     then 00 as the end</td></tr>
 * <tr><td>{@link #plainString}</td><td>code points, in keys as a whole</td><td>UTF-8</td></tr>
 * <tr><td>{@link #plainBytes}</td><td>unsigned, in keys as a whole</td><td>the bytes</td></tr>
 * </table>
 *
 * <p>{@code optional}, {@code tuple} and {@code reversed} delimit what is not self-delimiting.
 */
public final class Codecs {
  private static final byte END = 0;
  private static final byte ESCAPE = 1;

  private static final Codec<Boolean> BOOL =
      natural(
          value -> new byte[] {(byte) (value ? 1 : 0)},
          in -> {
            byte found = take(in, 1, "bool").get();
            if (found >>> 1 != 0) {
              throw new DecodeException("bool: byte " + found);
            }
            return found == 1;
          });

  private static final Codec<Integer> INT32 =
      natural(
          value -> ByteBuffer.allocate(4).putInt(value ^ Integer.MIN_VALUE).array(),
          in -> take(in, 4, "int32").getInt() ^ Integer.MIN_VALUE);

  private static final Codec<Long> INT64 =
      natural(
          value -> ByteBuffer.allocate(8).putLong(value ^ Long.MIN_VALUE).array(),
          in -> take(in, 8, "int64").getLong() ^ Long.MIN_VALUE);

  private static final Codec<Double> FLOAT64 =
      natural(
          value -> {
            long bits = Double.doubleToLongBits(value);
            return ByteBuffer.allocate(8).putLong(bits ^ ((bits >> 63) | Long.MIN_VALUE)).array();
          },
          in -> {
            long coded = take(in, 8, "float64").getLong();
            long bits = coded ^ ((~coded >> 63) | Long.MIN_VALUE);
            double value = Double.longBitsToDouble(bits);
            if (Double.doubleToLongBits(value) != bits) {
              throw new DecodeException("float64: another NaN than that of Java");
            }
            return value;
          });

  private static final Codec<byte[]> PLAIN_BYTES = Codec.of(byte[]::clone, Function.identity());
  private static final Codec<byte[]> BYTES = delimited(PLAIN_BYTES, /* isNatural= */ false);
  private static final Codec<String> PLAIN_STRING = Codec.of(Codecs::toUtf8, Codecs::fromUtf8);
  private static final Codec<String> STRING =
      delimited(Codec.of(Codecs::toCesu8, Codecs::fromCesu8), /* isNatural= */ true);

  private static final Codec<Instant> INSTANT =
      natural(Codecs::encodeInstant, Codecs::decodeInstant);

  private static final Codec<UUID> UUIDS =
      natural(
          value ->
              ByteBuffer.allocate(16)
                  .putLong(value.getMostSignificantBits() ^ Long.MIN_VALUE)
                  .putLong(value.getLeastSignificantBits() ^ Long.MIN_VALUE)
                  .array(),
          in -> {
            take(in, 16, "uuid");
            return new UUID(in.getLong() ^ Long.MIN_VALUE, in.getLong() ^ Long.MIN_VALUE);
          });

  private Codecs() {}

  /** {@return a codec of booleans, false before true} */
  public static Codec<Boolean> bool() {
    return BOOL;
  }

  /** {@return a codec of ints in natural order, 4 bytes} */
  public static Codec<Integer> int32() {
    return INT32;
  }

  /** {@return a codec of longs in natural order, 8 bytes} */
  public static Codec<Long> int64() {
    return INT64;
  }

  /**
   * {@return a codec of doubles in the order of {@link Double#compare}: -0.0 before 0.0, NaN last;
   * 8 bytes}
   */
  public static Codec<Double> float64() {
    return FLOAT64;
  }

  /**
   * {@return a codec of strings in the order of {@link String#compareTo}} Every string round-trips,
   * also one with unpaired surrogates. ASCII characters take a byte, U+0000 and U+0001 two, and the
   * end one.
   */
  public static Codec<String> string() {
    return STRING;
  }

  /**
   * {@return a codec of byte arrays in unsigned order} Bytes 00 and 01 take two bytes, the end one.
   * Equality of arrays is that of their content for keys, {@link KvMap#remove(Object, Object)} and
   * {@link KvMap#replace(Object, Object, Object)}, but not for {@link Object#equals}.
   */
  public static Codec<byte[]> bytes() {
    return BYTES;
  }

  /**
   * {@return a codec of strings as UTF-8, nothing more} For values, and for keys that other
   * programs read; the empty string cannot be a key. Unpaired surrogates throw {@link
   * IllegalArgumentException}.
   */
  public static Codec<String> plainString() {
    return PLAIN_STRING;
  }

  /** {@return a codec of byte arrays as they are} The empty array cannot be a key. */
  public static Codec<byte[]> plainBytes() {
    return PLAIN_BYTES;
  }

  /** {@return a codec of instants in natural order, 12 bytes} */
  public static Codec<Instant> instant() {
    return INSTANT;
  }

  /** {@return a codec of UUIDs in the order of {@link UUID#compareTo}, 16 bytes} */
  public static Codec<UUID> uuid() {
    return UUIDS;
  }

  /**
   * {@return a codec of the constants of an enum, ordered by name} Constants may be added, removed
   * and moved, but not renamed. The name of an absent one throws {@link DecodeException}.
   *
   * @param <E> the enum
   * @param type the enum
   */
  public static <E extends Enum<E>> Codec<E> enums(Class<E> type) {
    Map<String, E> constants = new HashMap<>();
    for (E constant : type.getEnumConstants()) {
      constants.put(constant.name(), constant);
    }
    return STRING.mapped(
        name -> {
          E constant = constants.get(name);
          if (constant == null) {
            throw new DecodeException(type.getName() + " has no constant " + name);
          }
          return constant;
        },
        Enum::name);
  }

  /**
   * {@return a codec of optional values: the empty one first}
   *
   * @param <T> type of the values
   * @param codec codec of the values
   */
  public static <T> Codec<Optional<T>> optional(Codec<T> codec) {
    Codec<T> part = delimited(codec);
    return ordered(
        value ->
            value
                .map(present -> concat(List.of(new byte[] {1}, part.encode(present))))
                .orElseGet(() -> new byte[1]),
        in -> BOOL.decode(in) ? Optional.of(part.decode(in)) : Optional.empty());
  }

  /**
   * {@return a codec with the opposite order}
   *
   * @param <T> type of the values
   * @param codec codec of the values
   */
  public static <T> Codec<T> reversed(Codec<T> codec) {
    Codec<T> part = delimited(codec);
    return ordered(
        value -> inverted(part.encode(value)),
        in -> {
          byte[] rest = new byte[in.remaining()];
          in.duplicate().get(rest);
          ByteBuffer plain = ByteBuffer.wrap(inverted(rest));
          T value = part.decode(plain);
          in.position(in.position() + plain.position());
          return value;
        });
  }

  /**
   * {@return a codec of values with two components, ordered by the first, then the second}
   *
   * <pre>{@code
   * record Visit(String user, Instant time) {}
   * Codec<Visit> codec =
   *     Codecs.tuple(Codecs.string(), Visit::user, Codecs.instant(), Visit::time, Visit::new);
   * }</pre>
   *
   * @param <T> type of the values
   * @param <A> type of the first component
   * @param <B> type of the second component
   * @param first codec of the first component
   * @param getFirst returns the first component
   * @param second codec of the second component
   * @param getSecond returns the second component
   * @param create makes a value of its components
   */
  public static <T, A, B> Codec<T> tuple(
      Codec<A> first,
      Function<? super T, ? extends A> getFirst,
      Codec<B> second,
      Function<? super T, ? extends B> getSecond,
      BiFunction<? super A, ? super B, ? extends T> create) {
    Component<T, A> a = component(first, getFirst);
    Component<T, B> b = component(second, getSecond);
    return tuple(List.of(a, b), in -> create.apply(a.decode(in), b.decode(in)));
  }

  /**
   * {@return a codec of values with three components, ordered by the first, the second, the third}
   *
   * @param <T> type of the values
   * @param <A> type of the first component
   * @param <B> type of the second component
   * @param <C> type of the third component
   * @param first codec of the first component
   * @param getFirst returns the first component
   * @param second codec of the second component
   * @param getSecond returns the second component
   * @param third codec of the third component
   * @param getThird returns the third component
   * @param create makes a value of its components
   */
  public static <T, A, B, C> Codec<T> tuple(
      Codec<A> first,
      Function<? super T, ? extends A> getFirst,
      Codec<B> second,
      Function<? super T, ? extends B> getSecond,
      Codec<C> third,
      Function<? super T, ? extends C> getThird,
      Function3<? super A, ? super B, ? super C, ? extends T> create) {
    Component<T, A> a = component(first, getFirst);
    Component<T, B> b = component(second, getSecond);
    Component<T, C> c = component(third, getThird);
    return tuple(List.of(a, b, c), in -> create.apply(a.decode(in), b.decode(in), c.decode(in)));
  }

  /**
   * {@return a codec of values with four components, ordered by the first, the second and so on}
   *
   * @param <T> type of the values
   * @param <A> type of the first component
   * @param <B> type of the second component
   * @param <C> type of the third component
   * @param <D> type of the fourth component
   * @param first codec of the first component
   * @param getFirst returns the first component
   * @param second codec of the second component
   * @param getSecond returns the second component
   * @param third codec of the third component
   * @param getThird returns the third component
   * @param fourth codec of the fourth component
   * @param getFourth returns the fourth component
   * @param create makes a value of its components
   */
  public static <T, A, B, C, D> Codec<T> tuple(
      Codec<A> first,
      Function<? super T, ? extends A> getFirst,
      Codec<B> second,
      Function<? super T, ? extends B> getSecond,
      Codec<C> third,
      Function<? super T, ? extends C> getThird,
      Codec<D> fourth,
      Function<? super T, ? extends D> getFourth,
      Function4<? super A, ? super B, ? super C, ? super D, ? extends T> create) {
    Component<T, A> a = component(first, getFirst);
    Component<T, B> b = component(second, getSecond);
    Component<T, C> c = component(third, getThird);
    Component<T, D> d = component(fourth, getFourth);
    return tuple(
        List.of(a, b, c, d),
        in -> create.apply(a.decode(in), b.decode(in), c.decode(in), d.decode(in)));
  }

  /**
   * Makes a value of three components.
   *
   * @param <A> type of the first component
   * @param <B> type of the second component
   * @param <C> type of the third component
   * @param <T> type of the value
   */
  @FunctionalInterface
  public interface Function3<A, B, C, T> {
    /**
     * {@return the value}
     *
     * @param a the first component
     * @param b the second component
     * @param c the third component
     */
    T apply(A a, B b, C c);
  }

  /**
   * Makes a value of four components.
   *
   * @param <A> type of the first component
   * @param <B> type of the second component
   * @param <C> type of the third component
   * @param <D> type of the fourth component
   * @param <T> type of the value
   */
  @FunctionalInterface
  public interface Function4<A, B, C, D, T> {
    /**
     * {@return the value}
     *
     * @param a the first component
     * @param b the second component
     * @param c the third component
     * @param d the fourth component
     */
    T apply(A a, B b, C c, D d);
  }

  private record Component<T, A>(Codec<A> codec, Function<? super T, ? extends A> getter) {
    byte[] encode(T value) {
      return codec.encode(getter.apply(value));
    }

    A decode(ByteBuffer in) {
      return codec.decode(in);
    }
  }

  private static <T, A> Component<T, A> component(
      Codec<A> codec, Function<? super T, ? extends A> getter) {
    return new Component<>(delimited(codec), Objects.requireNonNull(getter, "getter"));
  }

  private static <T> Codec<T> tuple(
      List<Component<T, ?>> components, Function<ByteBuffer, T> decoder) {
    return ordered(
        value -> concat(components.stream().map(component -> component.encode(value)).toList()),
        decoder);
  }

  private static <T> Codec<T> ordered(
      Function<? super T, byte[]> encoder, Function<ByteBuffer, ? extends T> decoder) {
    return new FunctionCodec<>(
        /* isSelfDelimiting= */ true, /* isNatural= */ false, encoder, decoder);
  }

  private static <T> Codec<T> natural(
      Function<? super T, byte[]> encoder, Function<ByteBuffer, ? extends T> decoder) {
    return new FunctionCodec<>(
        /* isSelfDelimiting= */ true, /* isNatural= */ true, encoder, decoder);
  }

  private static <T> Codec<T> delimited(Codec<T> codec) {
    return codec.isSelfDelimiting() ? codec : delimited(codec, /* isNatural= */ false);
  }

  private static <T> Codec<T> delimited(Codec<T> codec, boolean isNatural) {
    return new FunctionCodec<>(
        /* isSelfDelimiting= */ true,
        isNatural,
        value -> escaped(codec.encode(value)),
        in -> codec.decode(unescaped(in)));
  }

  private static byte[] escaped(byte[] plain) {
    int escapes = 0;
    for (byte b : plain) {
      escapes += isEscaped(b) ? 1 : 0;
    }
    byte[] coded = new byte[plain.length + escapes + 1];
    int length = 0;
    for (byte b : plain) {
      if (isEscaped(b)) {
        coded[length++] = ESCAPE;
        coded[length++] = (byte) (b + 1);
      } else {
        coded[length++] = b;
      }
    }
    coded[length] = END;
    return coded;
  }

  private static byte[] unescaped(ByteBuffer in) {
    byte[] plain = new byte[in.remaining()];
    int length = 0;
    while (in.hasRemaining()) {
      byte b = in.get();
      if (b == END) {
        return Arrays.copyOf(plain, length);
      }
      if (b == ESCAPE) {
        b = (byte) (take(in, 1, "delimited").get() - 1);
        if (!isEscaped(b)) {
          throw new DecodeException("delimited: byte " + (b + 1) + " after 01");
        }
      }
      plain[length++] = b;
    }
    throw new DecodeException("delimited: no end in " + plain.length + " bytes");
  }

  /** Whether the byte is {@link #END} or {@link #ESCAPE}. */
  private static boolean isEscaped(byte b) {
    return b >>> 1 == 0;
  }

  private static ByteBuffer take(ByteBuffer in, int length, String what) {
    if (in.remaining() < length) {
      throw new DecodeException(
          what + ": " + length + " bytes expected, " + in.remaining() + " left");
    }
    return in;
  }

  private static byte[] encodeInstant(Instant value) {
    long seconds = value.getEpochSecond();
    int nanos = value.getNano();
    return ByteBuffer.allocate(12).putLong(seconds ^ Long.MIN_VALUE).putInt(nanos).array();
  }

  private static Instant decodeInstant(ByteBuffer in) {
    long seconds = take(in, 12, "instant").getLong() ^ Long.MIN_VALUE;
    int nanos = in.getInt();
    if (seconds < Instant.MIN.getEpochSecond()
        || seconds > Instant.MAX.getEpochSecond()
        || nanos < 0
        || nanos > 999_999_999) {
      throw new DecodeException("instant: " + seconds + " s, " + nanos + " ns");
    }
    return Instant.ofEpochSecond(seconds, nanos);
  }

  private static byte[] toCesu8(String value) {
    byte[] coded = new byte[Math.multiplyExact(value.length(), 3)];
    int length = 0;
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c < 0x80) {
        coded[length++] = (byte) c;
      } else {
        if (c < 0x800) {
          coded[length++] = (byte) (0xc0 | (c >> 6));
        } else {
          coded[length++] = (byte) (0xe0 | (c >> 12));
          coded[length++] = (byte) (0x80 | ((c >> 6) & 0x3f));
        }
        coded[length++] = (byte) (0x80 | (c & 0x3f));
      }
    }
    return Arrays.copyOf(coded, length);
  }

  private static String fromCesu8(byte[] coded) {
    char[] value = new char[coded.length];
    int length = 0;
    for (int i = 0; i < coded.length; length++) {
      int b = coded[i++];
      int more = b >= 0 ? 0 : (b & 0xe0) == 0xc0 ? 1 : (b & 0xf0) == 0xe0 ? 2 : Integer.MAX_VALUE;
      boolean isValid = more <= coded.length - i;
      int c = b & (more == 0 ? 0x7f : more == 1 ? 0x1f : 0x0f);
      for (int left = more; isValid && left > 0; left--, i++) {
        isValid = (coded[i] & 0xc0) == 0x80;
        c = (c << 6) | (coded[i] & 0x3f);
      }
      // A character in more bytes than it needs would be a second encoding.
      if (!isValid || c < (more == 0 ? 0 : more == 1 ? 0x80 : 0x800)) {
        throw new DecodeException("string: bytes before " + i + " of " + coded.length);
      }
      value[length] = (char) c;
    }
    return new String(value, 0, length);
  }

  private static byte[] toUtf8(String value) {
    try {
      ByteBuffer buffer = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(value));
      byte[] coded = new byte[buffer.remaining()];
      buffer.get(coded);
      return coded;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("unpaired surrogate", e);
    }
  }

  private static String fromUtf8(byte[] coded) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(coded)).toString();
    } catch (CharacterCodingException e) {
      throw new DecodeException("plainString: not UTF-8");
    }
  }

  private static byte[] inverted(byte[] bytes) {
    byte[] inverted = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      inverted[i] = (byte) ~bytes[i];
    }
    return inverted;
  }

  private static byte[] concat(List<byte[]> parts) {
    int length = parts.stream().mapToInt(part -> part.length).sum();
    ByteBuffer all = ByteBuffer.allocate(length);
    parts.forEach(all::put);
    return all.array();
  }
}
