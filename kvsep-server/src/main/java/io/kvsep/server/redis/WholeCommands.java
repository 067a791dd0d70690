package io.kvsep.server.redis;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Fast path of the {@link CommandDecoder}: decodes commands that are complete, short and in the
 * usual form, from a heap copy in which access to single bytes is cheap. Everything else, including
 * all errors, is left to the decoder. Shared by all connections of an event loop.
 */
final class WholeCommands {
  private static final int BYTES = 16 << 10;
  private static final int ARGUMENTS_MAX = 64;
  private static final int LENGTH_DIGITS_MAX = 5;
  private static final byte[] NO_BYTES = {};

  private final CommandTable commands;
  private final int argumentsMax;
  private final byte[] copy = new byte[BYTES];

  /** Decoder whose bytes are copied, null for none; their start in the input and their number. */
  private @Nullable CommandDecoder owner;

  private int first;
  private int length;

  /** Position in the copy. */
  private int at;

  WholeCommands(CommandTable commands, RedisLimits limits) {
    this.commands = commands;
    this.argumentsMax = Math.min(ARGUMENTS_MAX, limits.arguments());
  }

  CommandTable commands() {
    return commands;
  }

  /** Invalidates the copy, because the input may change. */
  void forget() {
    owner = null;
  }

  /**
   * Decodes the next command, or returns null to leave it to the decoder. Until {@link #forget} the
   * decoder must pass the same input and be its only reader.
   */
  @Nullable Request next(CommandDecoder decoder, ByteBuf input, int bytesMax) {
    int start = input.readerIndex();
    if (owner != decoder) {
      copy(decoder, input);
    }
    at = start - first;
    Request request = cut(bytesMax);
    if (request == null && start > first && first + length < input.writerIndex()) {
      copy(decoder, input);
      at = 0;
      request = cut(bytesMax);
    }
    if (request != null) {
      input.readerIndex(first + at);
    }
    return request;
  }

  private void copy(CommandDecoder decoder, ByteBuf input) {
    owner = decoder;
    first = input.readerIndex();
    length = Math.min(BYTES, input.readableBytes());
    input.getBytes(first, copy, 0, length);
  }

  private @Nullable Request cut(int bytesMax) {
    int count = number('*');
    if (count < 1 || count > argumentsMax) {
      return null;
    }
    byte[][] arguments = new byte[count][];
    Command command = null;
    int bytes = 0;
    for (int i = 0; i < count; i++) {
      int size = number('$');
      if (size < 0 || size > length - at - 2) {
        return null;
      }
      int end = at + size;
      if (copy[end] != '\r' || copy[end + 1] != '\n') {
        return null;
      }
      command = i == 0 ? commands.find(copy, at, size) : command;
      arguments[i] = i == 0 && command != null ? NO_BYTES : Arrays.copyOfRange(copy, at, end);
      bytes += size;
      at = end + 2;
    }
    return bytes > bytesMax ? null : Request.of(arguments, command, bytes, 0);
  }

  /**
   * Parses the number on a line that begins with a sign; -1 if there is none or it has an unusual
   * form.
   */
  private int number(char sign) {
    int end = Math.min(length, at + 1 + LENGTH_DIGITS_MAX);
    if (at >= length || copy[at] != sign) {
      return -1;
    }
    int i = at + 1;
    int value = 0;
    while (i < end && copy[i] >= '0' && copy[i] <= '9') {
      value = 10 * value + copy[i++] - '0';
    }
    boolean plain = i > at + 1 && (copy[at + 1] != '0' || i == at + 2);
    if (!plain || i + 1 >= length || copy[i] != '\r' || copy[i + 1] != '\n') {
      return -1;
    }
    at = i + 2;
    return value;
  }
}
