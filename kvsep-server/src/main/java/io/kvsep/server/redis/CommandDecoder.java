package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decodes commands from the bytes of one connection: arrays of bulk strings, and inline commands.
 * Bytes of an argument are copied once, from the socket's buffer into their final array. The only
 * other state is the beginning of an incomplete line.
 *
 * <p>Each length is checked against its limit before memory is allocated for it. Long commands are
 * reserved in the {@link RequestBudget} first. Used only by the connection's event loop; {@link
 * #close} releases the reservation of an incomplete command.
 */
final class CommandDecoder {
  /** As in Redis, for inline commands and for lines with a number. */
  private static final int LINE_BYTES_MAX = 64 << 10;

  /** Limits for a client that has not authenticated yet, as in Redis. */
  private static final int ARGUMENTS_BEFORE_AUTH = 10;

  private static final int BYTES_BEFORE_AUTH = 16 << 10;

  /** Initial length of an array of arguments is at most this, whatever the header says. */
  private static final int ARGUMENTS_AT_ONCE = 1024;

  private static final short CR_LF = 0x0d0a;
  private static final byte[] NO_BYTES = {};
  private static final byte[][] NO_ARGUMENTS = {};

  private enum State {
    HEADER,
    LENGTH,
    BYTES,
    END
  }

  private final RedisLimits limits;
  private final RequestBudget budget;
  private final WholeCommands whole;

  private State state = State.HEADER;
  private byte[] line = NO_BYTES;
  private int lineLength;
  private byte[][] arguments = NO_ARGUMENTS;
  private int argumentCount;
  private int argumentsRead;
  private byte @Nullable [] current;
  private int currentRead;
  private long commandBytes;
  private long reservedBytes;

  CommandDecoder(RedisLimits limits, RequestBudget budget, WholeCommands whole) {
    this.limits = limits;
    this.budget = budget;
    this.whole = whole;
  }

  /**
   * Decodes the next command. Returns null if it is incomplete; then all bytes were consumed. Only
   * then may another input follow.
   *
   * @param trusted whether the client has authenticated
   */
  @Nullable Request next(ByteBuf input, boolean trusted) throws ProtocolException {
    if (trusted
        && state == State.HEADER
        && lineLength == 0
        && input.isReadable()
        && input.getByte(input.readerIndex()) == '*') {
      Request found = whole.next(this, input, limits.commandBytes());
      if (found != null) {
        return found;
      }
    }
    whole.forget();
    while (input.isReadable()) {
      Request done =
          switch (state) {
            case HEADER -> header(input, trusted);
            case LENGTH -> length(input, trusted);
            case BYTES -> bytes(input);
            case END -> end(input);
          };
      if (done != null) {
        return done;
      }
    }
    return null;
  }

  /** Whether an incomplete command holds a reservation. */
  boolean isReserving() {
    return reservedBytes > 0;
  }

  void close() {
    whole.forget();
    budget.release(reservedBytes);
    reservedBytes = 0;
    arguments = NO_ARGUMENTS;
    current = null;
  }

  private @Nullable Request header(ByteBuf input, boolean trusted) throws ProtocolException {
    boolean isArray = (lineLength > 0 ? line[0] : input.getByte(input.readerIndex())) == '*';
    int max = trusted ? LINE_BYTES_MAX : BYTES_BEFORE_AUTH;
    if (!readLine(input, max)) {
      if (lineLength >= max) {
        throw new ProtocolException(
            isArray ? "too big mbulk count string" : "too big inline request");
      }
      return null;
    }
    if (!isArray) {
      return words();
    }
    long count = number(1);
    lineLength = 0;
    if (count == Long.MIN_VALUE || count > limits.arguments()) {
      throw new ProtocolException("invalid multibulk length");
    }
    if (count <= 0) {
      return null;
    }
    if (!trusted && count > ARGUMENTS_BEFORE_AUTH) {
      throw new ProtocolException("unauthenticated multibulk length");
    }
    begin((int) count);
    return null;
  }

  private @Nullable Request words() throws ProtocolException {
    int bytes = lineLength;
    List<byte[]> words = InlineWords.split(line, bytes);
    lineLength = 0;
    if (words.size() > limits.arguments()) {
      throw new ProtocolException("invalid multibulk length");
    }
    if (words.isEmpty()) {
      return null;
    }
    requireNoHttp(words.get(0));
    return Request.of(words.toArray(NO_ARGUMENTS), whole.commands().find(words.get(0)), bytes, 0);
  }

  /**
   * Closes the connection at the words with which every HTTP request begins, as Redis does.
   * Otherwise a page in a local browser could send a request whose lines are commands.
   */
  private static void requireNoHttp(byte[] word) throws ProtocolException {
    String text = new String(word, 0, Math.min(word.length, 5), ISO_8859_1);
    if ((word.length == 4 && text.equalsIgnoreCase("post")) || text.equalsIgnoreCase("host:")) {
      throw new ProtocolException("this is no HTTP server");
    }
  }

  private void begin(int count) {
    argumentCount = count;
    argumentsRead = 0;
    commandBytes = 0;
    arguments = new byte[Math.min(count, ARGUMENTS_AT_ONCE)][];
    state = State.LENGTH;
  }

  private @Nullable Request length(ByteBuf input, boolean trusted) throws ProtocolException {
    byte first = lineLength > 0 ? line[0] : input.getByte(input.readerIndex());
    if (first != '$') {
      throw new ProtocolException("expected '$', got '" + shown(first) + "'");
    }
    if (!readLine(input, LINE_BYTES_MAX)) {
      if (lineLength >= LINE_BYTES_MAX) {
        throw new ProtocolException("too big bulk count string");
      }
      return null;
    }
    long length = number(1);
    lineLength = 0;
    if (length < 0 || length > limits.commandBytes() - commandBytes) {
      throw new ProtocolException("invalid bulk length");
    }
    if (!trusted && length > BYTES_BEFORE_AUTH) {
      throw new ProtocolException("unauthenticated bulk length");
    }
    commandBytes += length;
    reserve(commandBytes + (argumentsRead + 1L) * Request.ARGUMENT_OVERHEAD_BYTES);
    current = length == 0 ? NO_BYTES : new byte[(int) length];
    currentRead = 0;
    state = length == 0 ? State.END : State.BYTES;
    return null;
  }

  /** Called before the array is allocated. */
  private void reserve(long commandTotal) throws ProtocolException {
    long needed = Math.max(0, commandTotal - RequestBudget.FREE_BYTES);
    if (!budget.reserve(needed - reservedBytes)) {
      throw new ProtocolException("no memory for this command beside those under way");
    }
    reservedBytes = needed;
  }

  private @Nullable Request bytes(ByteBuf input) {
    byte[] target = current == null ? NO_BYTES : current;
    int count = Math.min(input.readableBytes(), target.length - currentRead);
    input.readBytes(target, currentRead, count);
    currentRead += count;
    if (currentRead < target.length) {
      return null;
    }
    state = State.END;
    lineLength = 0;
    if (input.readableBytes() > 1 && input.getShort(input.readerIndex()) == CR_LF) {
      input.skipBytes(2);
      return finishArgument();
    }
    return null;
  }

  private @Nullable Request end(ByteBuf input) throws ProtocolException {
    byte expected = (byte) (lineLength == 0 ? '\r' : '\n');
    byte found = input.readByte();
    if (found != expected) {
      throw new ProtocolException("expected CR LF behind a bulk string");
    }
    if (lineLength == 0) {
      lineLength = 1;
      return null;
    }
    lineLength = 0;
    return finishArgument();
  }

  private @Nullable Request finishArgument() {
    if (argumentsRead == arguments.length) {
      int longer = (int) Math.min(argumentCount, 2L * arguments.length);
      arguments = Arrays.copyOf(arguments, longer);
    }
    arguments[argumentsRead++] = current == null ? NO_BYTES : current;
    current = null;
    if (argumentsRead < argumentCount) {
      state = State.LENGTH;
      return null;
    }
    Command command = whole.commands().find(arguments[0]);
    Request request = Request.of(arguments, command, (int) commandBytes, reservedBytes);
    arguments = NO_ARGUMENTS;
    reservedBytes = 0;
    state = State.HEADER;
    return request;
  }

  /**
   * Reads up to the end of the line, which is consumed but not kept. Returns whether the end was
   * found. If not and the length is {@code max}, the line is too long.
   */
  private boolean readLine(ByteBuf input, int max) {
    int available = Math.max(0, Math.min(input.readableBytes(), max - lineLength));
    int start = input.readerIndex();
    int end = input.indexOf(start, start + available, (byte) '\n');
    int count = end < 0 ? available : end - start;
    if (line.length - lineLength < count) {
      line = Arrays.copyOf(line, Math.max(64, Math.max(2 * line.length, lineLength + count)));
    }
    input.readBytes(line, lineLength, count);
    lineLength += count;
    if (end < 0) {
      return false;
    }
    input.skipBytes(1);
    if (lineLength > 0 && line[lineLength - 1] == '\r') {
      lineLength--;
    }
    if (line.length > 1024 && lineLength <= 64) {
      line = Arrays.copyOf(line, 64);
    }
    return true;
  }

  /**
   * Parses the decimal number from an index of the line on, {@link Long#MIN_VALUE} if there is
   * none.
   */
  private long number(int from) {
    return Numbers.parse(line, from, lineLength, Long.MIN_VALUE);
  }

  private static String shown(byte first) {
    return first >= ' ' && first < 127 ? new String(new byte[] {first}, ISO_8859_1) : "?";
  }
}
