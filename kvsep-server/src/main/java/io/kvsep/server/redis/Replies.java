package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Replies of one connection in the order of its commands, written straight into the buffer that
 * goes to the socket, in the version of the protocol that the client has chosen. Can be cut back to
 * a mark while a command is not certain yet. Used by one thread at a time.
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

  /** About what the replies that go out together take. */
  private int expectedBytes = FIRST_BYTES;

  private boolean third;
  private int begun;

  Replies(ByteBufAllocator allocator, int replyBytesMax) {
    this.allocator = allocator;
    this.replyBytesMax = replyBytesMax;
  }

  /** Version 3 of the protocol from here on, or 2. */
  void protocol(int version) {
    third = version == 3;
  }

  int length() {
    return buffer == null ? 0 : buffer.readableBytes();
  }

  /** A reply begins; returns the mark to cut back to. */
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

  /** What was written so far; goes on with nothing. */
  ByteBuf take() {
    ByteBuf taken = buffer == null ? Unpooled.EMPTY_BUFFER : buffer;
    expectedBytes = Math.min(EXPECTED_BYTES_MAX, Math.max(FIRST_BYTES, taken.readableBytes()));
    buffer = null;
    begun = 0;
    return taken;
  }

  /** Adds what another has written; takes its buffer over, whether there is room for it or not. */
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

  /** With its code in front. Line ends and other control characters would end the reply early. */
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

  /** Takes a view of a value as {@link #bulk(ByteBuffer)} does. */
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

  /** No value. */
  void nothing() {
    byte[] bytes = third ? NULL : NULL_BULK;
    room(bytes.length).writeBytes(bytes);
  }

  /** In place of an array. */
  void noArray() {
    byte[] bytes = third ? NULL : NULL_ARRAY;
    room(bytes.length).writeBytes(bytes);
  }

  /** So many replies follow. */
  void array(int count) {
    header(room(24), '*', count);
  }

  /** As many pairs of replies follow. */
  void map(int count) {
    header(room(24), third ? '%' : '*', third ? count : 2 * count);
  }

  /** One of the pairs of a map: a name and what it stands for. */
  void pair(String name, String value) {
    bulk(name);
    bulk(value);
  }

  void set(int count) {
    header(room(24), third ? '~' : '*', count);
  }

  /** A text for people. */
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

  /** Refuses what would be longer than a reply may be. */
  void checkRoom(long bytes) {
    if (bytes > replyBytesMax - (length() - begun)) {
      throw new CommandLimitException("the reply would have more than " + replyBytesMax + " bytes");
    }
  }

  /** The buffer, with what is about to be written held against the limit. */
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
