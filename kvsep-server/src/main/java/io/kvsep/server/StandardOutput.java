package io.kvsep.server;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Standard output. A reader that went away ({@code kvsep scan | head}) raises {@link
 * ReaderGoneException}, which ends a command quietly; everything else that the system refuses, such
 * as a full disk behind a redirection, stays an error.
 */
final class StandardOutput extends FilterOutputStream {
  private final byte[] chunk = new byte[1 << 16];

  StandardOutput(OutputStream target) {
    super(target);
  }

  void line(String text) throws IOException {
    write((text + "\n").getBytes(StandardCharsets.UTF_8));
  }

  void bytes(ByteBuffer view) throws IOException {
    while (view.hasRemaining()) {
      int count = Math.min(view.remaining(), chunk.length);
      view.get(chunk, 0, count);
      write(chunk, 0, count);
    }
  }

  @Override
  public void write(int value) throws IOException {
    try {
      out.write(value);
    } catch (IOException e) {
      throw classified(e);
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    try {
      out.write(bytes, offset, count);
    } catch (IOException e) {
      throw classified(e);
    }
  }

  @Override
  public void flush() throws IOException {
    try {
      out.flush();
    } catch (IOException e) {
      throw classified(e);
    }
  }

  /** The JDK has no type for it; every system's message names the pipe. */
  private static IOException classified(IOException refusal) {
    String message = String.valueOf(refusal.getMessage()).toLowerCase(Locale.ROOT);
    return message.contains("pipe")
        ? new ReaderGoneException(refusal)
        : new IOException("cannot write to standard output: " + refusal.getMessage(), refusal);
  }

  /** Nobody reads standard output any more. */
  static final class ReaderGoneException extends IOException {
    private static final long serialVersionUID = 1L;

    private ReaderGoneException(IOException cause) {
      super("nobody reads standard output any more", cause);
    }
  }
}
