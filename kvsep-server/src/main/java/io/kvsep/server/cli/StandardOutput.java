package io.kvsep.server.cli;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Standard output. If its reader has gone ({@code kvsep scan | head}), throws {@link
 * ReaderGoneException}, which ends a command quietly. Other failures, such as a full disk, stay
 * errors.
 */
final class StandardOutput extends FilterOutputStream {
  private final byte[] chunk = new byte[1 << 16];
  private volatile boolean interrupted;
  private int last = '\n';

  StandardOutput(OutputStream target) {
    super(target);
  }

  /** Ends the command at its next step or write; in effect until {@link #resume}. */
  void interrupt() {
    interrupted = true;
  }

  void resume() {
    interrupted = false;
  }

  /** Throws if the user has interrupted the command; called at each step of long work. */
  void requireNotInterrupted() {
    if (interrupted) {
      throw CommandFailure.failed("interrupted");
    }
  }

  void line(String text) throws IOException {
    write((text + "\n").getBytes(StandardCharsets.UTF_8));
  }

  /** Ends a line that is not ended, so that what follows begins one. */
  void endLine() throws IOException {
    if (last != '\n') {
      write('\n');
    }
    flush();
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
    requireNotInterrupted();
    try {
      out.write(value);
      last = value;
    } catch (IOException e) {
      throw classified(e);
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    requireNotInterrupted();
    try {
      out.write(bytes, offset, count);
      last = count == 0 ? last : bytes[offset + count - 1];
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

  /** The JDK has no type for a closed pipe, but every system's message names it. */
  private static IOException classified(IOException refusal) {
    String message = String.valueOf(refusal.getMessage()).toLowerCase(Locale.ROOT);
    return message.contains("pipe")
        ? new ReaderGoneException(refusal)
        : new IOException("cannot write to standard output: " + refusal.getMessage(), refusal);
  }

  /** The reader of standard output has gone. */
  static final class ReaderGoneException extends IOException {
    private static final long serialVersionUID = 1L;

    private ReaderGoneException(IOException cause) {
      super("the reader of standard output has gone", cause);
    }
  }
}
