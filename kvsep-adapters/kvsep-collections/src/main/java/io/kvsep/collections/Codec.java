package io.kvsep.collections;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Converts values to bytes and back; {@link Codecs} has those of common types. Keys are ordered by
 * their encoded bytes, unsigned, whatever the codec is: a codec is <em>ordered</em> if that is a
 * useful order. Equal keys must have equal encodings. Encodings of keys have 1 to 65,535 bytes.
 *
 * <p>Implementations must be thread safe.
 *
 * @param <T> type of the values, never null
 */
public interface Codec<T> {
  /**
   * {@return the encoding, a new array}
   *
   * @param value the value
   * @throws IllegalArgumentException if the value has no encoding
   */
  byte[] encode(T value);

  /**
   * Decodes the bytes from the position of {@code in} and advances the position behind them: behind
   * the encoding if the codec is {@linkplain #isSelfDelimiting self-delimiting}, else to the limit.
   * The result must not refer to the buffer, and {@link ByteBuffer#order} is big-endian.
   *
   * @param in untrusted bytes
   * @return the value
   * @throws DecodeException if the bytes are not an encoding
   */
  T decode(ByteBuffer in);

  /**
   * Decodes an array as a whole.
   *
   * @param encoded untrusted bytes
   * @return the value
   * @throws DecodeException if the bytes are not an encoding, or if there are more
   */
  default T decode(byte[] encoded) {
    ByteBuffer in = ByteBuffer.wrap(encoded);
    T value = decode(in);
    if (in.hasRemaining()) {
      throw new DecodeException(in.remaining() + " bytes left after the value");
    }
    return value;
  }

  /**
   * {@return whether the end of an encoding follows from its bytes} No encoding is then the
   * beginning of another one. Tuples add a terminator to components that are not.
   */
  default boolean isSelfDelimiting() {
    return false;
  }

  /**
   * {@return the order of the encoded bytes as a comparator; null if it is the natural order of the
   * values} The default compares encodings.
   */
  default @Nullable Comparator<? super T> comparator() {
    return (a, b) -> Arrays.compareUnsigned(encode(a), encode(b));
  }

  /**
   * {@return a codec that stores each value as one that this codec encodes, in the same order}
   *
   * <pre>{@code
   * record UserId(long number) {}
   * Codec<UserId> codec = Codecs.int64().mapped(UserId::new, UserId::number);
   * }</pre>
   *
   * @param <U> type of the values of the new codec
   * @param decode makes a value of what this codec decoded; throws {@link DecodeException} if there
   *     is none
   * @param encode the opposite of {@code decode}
   */
  default <U> Codec<U> mapped(
      Function<? super T, ? extends U> decode, Function<? super U, ? extends T> encode) {
    return new FunctionCodec<>(
        isSelfDelimiting(),
        /* isNatural= */ false,
        value -> encode(encode.apply(value)),
        in -> decode.apply(decode(in)));
  }

  /**
   * {@return a codec of two functions, not self-delimiting} Ordered if the first keeps the order.
   *
   * @param <T> type of the values
   * @param encode makes a new array of a value
   * @param decode makes a value of an array, which it may keep; throws {@link DecodeException} for
   *     bytes that {@code encode} does not make
   */
  static <T> Codec<T> of(Function<? super T, byte[]> encode, Function<byte[], ? extends T> decode) {
    return new FunctionCodec<>(
        /* isSelfDelimiting= */ false,
        /* isNatural= */ false,
        encode,
        in -> {
          byte[] all = new byte[in.remaining()];
          in.get(all);
          return decode.apply(all);
        });
  }
}
