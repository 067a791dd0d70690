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
 * The entries of a cursor in pieces of about {@value #PIECE_BYTES} bytes. A long value spans
 * several pieces.
 *
 * <p>The time limit is checked between entries, so the cursor is not held for ever; an entry
 * continues as long as its pieces are taken. Before a long value the work moves to {@code
 * longWorkers}. A long value on the heap counts against the gate until it is sent; if it does not
 * fit, the scan ends before it.
 *
 * <pre>
 * lines   one object a line; {"cursor":"..."} as the last one when there is more
 * binary  u32 length of the key, u32 length of the value, key, value; big-endian.
 *         When there is more: u32 0, u32 length of the cursor, the cursor
 * </pre>
 */
final class ScanPieces {
  private static final int PIECE_BYTES = 64 << 10;

  /** A multiple of three, so the base64 of the parts is the base64 of the whole. */
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

  /** Whether the thread of the next piece may begin a long value. */
  private boolean mayBeLong;

  /** The cursor is at an entry with a long value that has not been read yet. */
  private boolean isBeforeLong;

  /** Rest of the value being sent. */
  private @Nullable ByteBuffer rest;

  /** Counts the value against the gate if it is on the heap as a whole. */
  private AdmissionControl.@Nullable Held held;

  /** Key of the previous entry, {@code beforeLength} bytes. Reused, to avoid an array per entry. */
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
      // The client has to take each piece within this time; the value may take longer.
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

    /** Writes the entry up to its value, or as a whole if values are left out. */
    abstract void begin(ByteBuf piece);

    abstract void goOn(ByteBuf piece, ByteBuffer value);

    /** Writes what follows the value. */
    abstract void finish(ByteBuf piece);

    /** Writes the cursor: more entries follow after this key. */
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
   * Begins a value. Returns false if it exceeds the gate's limit; throws in that case if nothing
   * was sent before.
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
          keysOnly ? EntryLine.withoutValue(cursor) + '\n' : EntryLine.upToValue(cursor), UTF_8);
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
