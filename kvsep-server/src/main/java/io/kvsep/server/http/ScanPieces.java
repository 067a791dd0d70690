package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.KvCursor;
import io.kvsep.server.json.EntryLine;
import io.kvsep.server.json.JsonObject;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * The entries of a cursor in pieces of about {@value #PIECE_BYTES} bytes, whatever the length of
 * the values: a long one is begun in one piece and goes on in the next.
 *
 * <p>The time for all of them is looked at between entries, so that the cursor is not kept for
 * ever. Where a long value is next, the pieces go on by threads that are there for these. An entry
 * that was begun goes on as long as its pieces are taken. A long value that lies on the heap counts
 * there until it has gone; where there is no room, the pieces end in front of it.
 *
 * <pre>
 * lines   one object a line; {"cursor":"..."} as the last one when there is more
 * binary  u32 length of the key, u32 length of the value, key, value; highest byte first.
 *         When there is more: u32 0, u32 length of the cursor, the cursor
 * </pre>
 */
final class ScanPieces {
  private static final int PIECE_BYTES = 64 << 10;

  /** A multiple of three, so that base64 of the parts is base64 of the whole. */
  private static final int ENCODED_AT_ONCE = 24 << 10;

  private final ServiceRequestContext context;
  private final HttpLimits limits;
  private final AdmissionControl gate;
  private final KvCursor cursor;
  private final long endNanos;
  private final long limit;
  private final boolean keysOnly;
  private final ScheduledExecutorService longWorkers;
  private long count;

  /** Whether the thread that makes the next piece may begin with a long value. */
  private boolean mayBeLong;

  /** The cursor stands at an entry with a long value, of which nothing was read so far. */
  private boolean isBeforeLong;

  /** What is left of the value that was begun. */
  private @Nullable ByteBuffer rest;

  /** Room for it, where it lies on the heap as a whole. */
  private AdmissionControl.@Nullable Held held;

  /** The key of the entry before, of that length; kept without an object for each. */
  private byte[] before = new byte[64];

  private int beforeLength;

  private boolean isOver;

  ScanPieces(
      ServiceRequestContext context,
      HttpLimits limits,
      AdmissionControl gate,
      KvCursor cursor,
      long limit,
      boolean keysOnly,
      boolean mayBeLong,
      ScheduledExecutorService longWorkers) {
    this.context = context;
    this.limits = limits;
    this.gate = gate;
    this.cursor = cursor;
    this.endNanos = System.nanoTime() + limits.scanTime().toNanos();
    this.limit = limit;
    this.keysOnly = keysOnly;
    this.mayBeLong = mayBeLong;
    this.longWorkers = longWorkers;
  }

  StreamedAnswer.Source lines() {
    return new Lines();
  }

  StreamedAnswer.Source binary() {
    return new Binary();
  }

  private abstract class Pieces implements StreamedAnswer.Source {
    @Override
    public @Nullable HttpData next() {
      if (isOver) {
        return null;
      }
      ByteBuf piece = context.alloc().buffer(PIECE_BYTES);
      try {
        fill(piece);
      } catch (Throwable e) {
        piece.release();
        throw e;
      }
      if (!piece.isReadable()) {
        piece.release();
        return isBeforeLong ? HttpData.empty() : null;
      }
      // It has to be taken within this time, however long the value goes on that it is a part of.
      context.setRequestTimeoutMillis(TimeoutMode.SET_FROM_NOW, limits.requestTime().toMillis());
      return HttpData.wrap(piece);
    }

    @Override
    public @Nullable ScheduledExecutorService executor() {
      return isBeforeLong ? longWorkers : null;
    }

    private void fill(ByteBuf piece) {
      boolean isAtLong = isBeforeLong;
      isBeforeLong = false;
      while (!isOver && piece.readableBytes() < PIECE_BYTES) {
        ByteBuffer value = rest;
        if (value != null) {
          goOn(piece, value);
          if (!value.hasRemaining()) {
            finish(piece);
            letGo();
          }
        } else {
          boolean mayGoOn =
              isAtLong || (count < limit && (count == 0 || System.nanoTime() - endNanos < 0));
          byte[] last = count > 0 && !mayGoOn ? cursor.key() : null;
          if (!isAtLong && !cursor.next()) {
            isOver = true;
          } else if (last != null) {
            end(piece, last);
            isOver = true;
          } else if (!keysOnly && !mayBeLong && cursor.valueLength() > Entries.LONG_BYTES) {
            isBeforeLong = true;
            mayBeLong = true;
            return;
          } else if (keysOnly || hold(cursor.valueView())) {
            isAtLong = false;
            mayBeLong = false;
            count++;
            keepKey();
            begin(piece);
            if (keysOnly) {
              finish(piece);
            }
          } else {
            end(piece, Arrays.copyOf(before, beforeLength));
            isOver = true;
          }
        }
      }
    }

    /** Up to the value, or all of it where there is none. */
    abstract void begin(ByteBuf piece);

    /** Some bytes of the value. */
    abstract void goOn(ByteBuf piece, ByteBuffer value);

    /** What follows the value. */
    abstract void finish(ByteBuf piece);

    /** There is more, behind this key. */
    abstract void end(ByteBuf piece, byte[] last);

    @Override
    public void close() {
      try {
        cursor.close();
      } finally {
        letGo();
      }
    }
  }

  /**
   * Begins with a value. Whether there is room for it; where there is none and nothing has been
   * answered so far, that is thrown.
   */
  private boolean hold(ByteBuffer value) {
    if (!value.isDirect() && value.remaining() > PIECE_BYTES) {
      try {
        held = gate.hold(value.remaining());
      } catch (Problem e) {
        if (count == 0) {
          throw e;
        }
        return false;
      }
    }
    rest = value;
    return true;
  }

  private void letGo() {
    rest = null;
    AdmissionControl.Held room = held;
    if (room != null) {
      held = null;
      room.close();
    }
  }

  private void keepKey() {
    ByteBuffer key = cursor.keyView();
    beforeLength = key.remaining();
    if (beforeLength > before.length) {
      before = new byte[Math.max(beforeLength, 2 * before.length)];
    }
    key.get(before, 0, beforeLength);
  }

  private final class Lines extends Pieces {
    @Override
    void begin(ByteBuf piece) {
      piece.writeCharSequence(
          keysOnly ? EntryLine.whole(cursor, false) + '\n' : EntryLine.upToValue(cursor), UTF_8);
    }

    @Override
    void goOn(ByteBuf piece, ByteBuffer value) {
      byte[] some = new byte[Math.min(ENCODED_AT_ONCE, value.remaining())];
      value.get(some);
      piece.writeBytes(Base64.getEncoder().encode(some));
    }

    @Override
    void finish(ByteBuf piece) {
      if (!keysOnly) {
        piece.writeCharSequence('"' + EntryLine.end(cursor) + '\n', UTF_8);
      }
    }

    @Override
    void end(ByteBuf piece, byte[] last) {
      piece.writeCharSequence(new JsonObject().put("cursor", cursor(last)) + "\n", UTF_8);
    }
  }

  private final class Binary extends Pieces {
    @Override
    void begin(ByteBuf piece) {
      ByteBuffer key = cursor.keyView();
      piece.writeInt(key.remaining());
      piece.writeInt(keysOnly ? 0 : cursor.valueLength());
      piece.writeBytes(key);
    }

    @Override
    void goOn(ByteBuf piece, ByteBuffer value) {
      int some = Math.min(ENCODED_AT_ONCE, value.remaining());
      piece.writeBytes(value.slice(value.position(), some));
      value.position(value.position() + some);
    }

    @Override
    void finish(ByteBuf piece) {}

    @Override
    void end(ByteBuf piece, byte[] last) {
      byte[] text = cursor(last).getBytes(US_ASCII);
      piece.writeInt(0);
      piece.writeInt(text.length);
      piece.writeBytes(text);
    }
  }

  private static String cursor(byte[] last) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(last);
  }
}
