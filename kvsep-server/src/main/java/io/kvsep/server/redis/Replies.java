package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Replies of one connection in the order of its commands, written directly into the buffer that
 * goes to the socket, in the client's version of the protocol. Can be truncated to a mark if a
 * command fails. Used by one thread at a time.
 */
final class Replies {
  private static final int FIRST_BYTES = 256;
  private static final int EXPECTED_BYTES_MAX = 64 << 10;
  private static final byte[] OK = "+OK\r\n".getBytes(UTF_8);
  private static final byte[] NULL_BULK = "$-1\r\n".getBytes(UTF_8);
  private static final byte[] NULL_ARRAY = "*-1\r\n".getBytes(UTF_8);
  private static final byte[] NULL = "_\r\n".getBytes(UTF_8);

  private final ByteBufAllocator allocator;
  private final int replyBytesMax;
  private final Function<ByteBuffer, Boolean> bulks = this::takeBulk;
  private @Nullable ByteBuf buffer;

  /** Expected length of the replies of one round. */
  private int expectedBytes = FIRST_BYTES;

  private boolean third;
  private int begun;

  Replies(ByteBufAllocator allocator, int replyBytesMax) {
    this.allocator = allocator;
    this.replyBytesMax = replyBytesMax;
  }

  /** Selects version 2 or 3 of the protocol for the following replies. */
  void protocol(int version) {
    third = version == 3;
  }

  int length() {
    return buffer == null ? 0 : buffer.readableBytes();
  }

  /** Begins a reply. Returns the mark to truncate to. */
  int begin() {
    begun = length();
    return begun;
  }

  void cutBackTo(int mark) {
    if (buffer != null) {
      buffer.writerIndex(buffer.readerIndex() + mark);
    }
    begun = Math.min(begun, mark);
  }

  /** Returns what was written so far, and starts with an empty buffer. */
  ByteBuf take() {
    ByteBuf taken = buffer == null ? Unpooled.EMPTY_BUFFER : buffer;
    expectedBytes = Math.min(EXPECTED_BYTES_MAX, Math.max(FIRST_BYTES, taken.readableBytes()));
    buffer = null;
    begun = 0;
    return taken;
  }

  /** Appends the replies of another buffer and releases it, also if this throws. */
  void append(ByteBuf other) {
    if (buffer == null) {
      buffer = other;
      return;
    }
    try {
      buffer.writeBytes(other);
    } finally {
      other.release();
    }
  }

  void ok() {
    room(OK.length).writeBytes(OK);
  }

  void simple(String text) {
    line('+', text);
  }

  /**
   * The text begins with its code. Control characters are replaced, because a line break would end
   * the reply.
   */
  void error(String text) {
    StringBuilder clean = new StringBuilder(Math.min(text.length(), 512));
    for (int i = 0; i < text.length() && i < 512; i++) {
      char c = text.charAt(i);
      clean.append(c < ' ' ? ' ' : c);
    }
    line('-', clean.toString());
  }

  void integer(long value) {
    ByteBuf out = room(24);
    out.writeByte(':');
    number(out, value);
    out.writeShort(0x0d0a);
  }

  void bulk(byte[] value) {
    ByteBuf out = room(value.length + 24L);
    header(out, '$', value.length);
    out.writeBytes(value);
    out.writeShort(0x0d0a);
  }

  void bulk(String value) {
    bulk(value.getBytes(UTF_8));
  }

  void bulk(ByteBuffer value) {
    ByteBuf out = room(value.remaining() + 24L);
    header(out, '$', value.remaining());
    out.writeBytes(value);
    out.writeShort(0x0d0a);
  }

  private Boolean takeBulk(ByteBuffer value) {
    bulk(value);
    return true;
  }

  /** Consumer of a value view, as {@link #bulk(ByteBuffer)}. */
  Function<ByteBuffer, Boolean> bulks() {
    return bulks;
  }

  void bulkOrNull(byte @Nullable [] value) {
    if (value == null) {
      nothing();
    } else {
      bulk(value);
    }
  }

  /** A null value. */
  void nothing() {
    byte[] bytes = third ? NULL : NULL_BULK;
    room(bytes.length).writeBytes(bytes);
  }

  /** A null array. */
  void noArray() {
    byte[] bytes = third ? NULL : NULL_ARRAY;
    room(bytes.length).writeBytes(bytes);
  }

  void array(int count) {
    header(room(24), '*', count);
  }

  /** {@code count} pairs of replies follow. */
  void map(int count) {
    header(room(24), third ? '%' : '*', third ? count : 2 * count);
  }

  void pair(String name, String value) {
    bulk(name);
    bulk(value);
  }

  void set(int count) {
    header(room(24), third ? '~' : '*', count);
  }

  /** Text for people. */
  void verbatim(String text) {
    if (third) {
      byte[] bytes = ("txt:" + text).getBytes(UTF_8);
      ByteBuf out = room(bytes.length + 24L);
      header(out, '=', bytes.length);
      out.writeBytes(bytes);
      out.writeShort(0x0d0a);
    } else {
      bulk(text);
    }
  }

  private void line(char type, String text) {
    byte[] bytes = text.getBytes(UTF_8);
    ByteBuf out = room(bytes.length + 3L);
    out.writeByte(type);
    out.writeBytes(bytes);
    out.writeShort(0x0d0a);
  }

  /** Throws if the reply would exceed its limit. */
  void checkRoom(long bytes) {
    if (bytes > replyBytesMax - (length() - begun)) {
      throw new CommandLimitException("the reply would have more than " + replyBytesMax + " bytes");
    }
  }

  /** Returns the buffer after a check of the limit. */
  private ByteBuf room(long bytes) {
    checkRoom(bytes);
    ByteBuf out = buffer;
    if (out == null) {
      out = allocator.buffer((int) Math.max(expectedBytes, bytes));
      buffer = out;
    }
    return out;
  }

  private static void header(ByteBuf out, char type, int count) {
    out.writeByte(type);
    number(out, count);
    out.writeShort(0x0d0a);
  }

  private static void number(ByteBuf out, long value) {
    if (value < 0 || value > 9999) {
      out.writeBytes(Numbers.text(value));
      return;
    }
    int small = (int) value;
    for (int power = small > 999 ? 1000 : small > 99 ? 100 : small > 9 ? 10 : 1; power > 0; ) {
      out.writeByte('0' + small / power % 10);
      power /= 10;
    }
  }
}
