package io.kvsep.collections;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A codec of two functions.
 *
 * @param isNatural whether the order of the encodings is the natural order of the values
 */
record FunctionCodec<T>(
    boolean isSelfDelimiting,
    boolean isNatural,
    Function<? super T, byte[]> encoder,
    Function<ByteBuffer, ? extends T> decoder)
    implements Codec<T> {
  FunctionCodec {
    Objects.requireNonNull(encoder, "encode");
    Objects.requireNonNull(decoder, "decode");
  }

  @Override
  public byte[] encode(T value) {
    return encoder.apply(value);
  }

  @Override
  public T decode(ByteBuffer in) {
    return decoder.apply(in);
  }

  @Override
  public @Nullable Comparator<? super T> comparator() {
    return isNatural ? null : Codec.super.comparator();
  }
}
