package io.kvsep.internal.io;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.memory.MappedFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.NonWritableChannelException;
import org.jspecify.annotations.Nullable;

/**
 * A file of a {@link FileStorage}. Owns its channels; callers own their mappings.
 *
 * <p>An interrupt during a call of {@link FileChannel} closes the channel for all threads. So an
 * operation clears the interrupt flag first. If an interrupt still arrives, the first thread to
 * notice reopens the channel and every thread repeats its operation, which is harmless because
 * transfers are positional. A file deleted or replaced meanwhile cannot be reopened; its next
 * operation fails.
 *
 * <p>A sync must not be repeated: the interrupt would replace the error of a failed sync, and on a
 * channel opened after the kernel has reported the error, a sync succeeds although data is lost.
 * Syncs use a handle of a class that interrupts do not close, opened before the first write so that
 * it sees every failure.
 *
 * <p>Nor may a mapping be repeated, because Java loses a mapping that an interrupt hits: {@link
 * InterruptShield} maps files.
 *
 * <p>Thread safe.
 */
final class ChannelFile implements StorageFile {
  /**
   * Position 0 of the buffer is at {@code base} of the file. The buffer's position shows how far a
   * write came even if an interrupt hid the count.
   */
  private static final Attempt<ByteBuffer, Boolean> WRITE =
      (current, source, base) -> {
        while (source.hasRemaining()) {
          current.write(source, base + source.position());
        }
        return true;
      };

  private static final Attempt<ByteBuffer, Boolean> READ =
      (current, target, base) -> {
        while (target.hasRemaining()) {
          if (current.read(target, base + target.position()) < 0) {
            break;
          }
        }
        return true;
      };

  private final FileStorage storage;
  private final String name;
  private final @Nullable AsynchronousFileChannel syncHandle;
  private final boolean writable;
  private volatile FileChannel channel;

  @GuardedBy("this")
  private boolean closed;

  @GuardedBy("this")
  private int generation;

  /** Takes ownership of both channels. The file is writable if it has a sync handle. */
  ChannelFile(
      FileStorage storage,
      String name,
      FileChannel channel,
      @Nullable AsynchronousFileChannel syncHandle) {
    this.storage = storage;
    this.name = name;
    this.channel = channel;
    this.syncHandle = syncHandle;
    this.writable = syncHandle != null;
  }

  @Override
  public String name() {
    return name;
  }

  boolean writable() {
    return writable;
  }

  @Override
  public long length() throws IOException {
    return repeated((current, none, zero) -> current.size(), name, 0);
  }

  @Override
  public void write(ByteBuffer source, long offset) throws IOException {
    requireDirect(source);
    repeated(WRITE, source, offset - source.position());
  }

  @Override
  public int read(ByteBuffer target, long offset) throws IOException {
    requireDirect(target);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("read into a read-only buffer");
    }
    int start = target.position();
    repeated(READ, target, offset - start);
    return target.position() - start;
  }

  @Override
  public ByteBuffer map(long length) throws IOException {
    // Mapping beyond the end of a writable file would extend it.
    long fileLength = length();
    if (length < 0 || length > fileLength || length > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "map of " + length + " bytes of a file of " + fileLength + " bytes: " + name);
    }
    return InterruptShield.call(
        () -> repeated((current, file, bytes) -> MappedFiles.map(current, bytes), name, length));
  }

  @Override
  public void sync() throws IOException {
    AsynchronousFileChannel handle = syncHandle;
    if (handle == null) {
      throw new NonWritableChannelException();
    }
    handle.force(false);
  }

  @Override
  public void truncate(long length) throws IOException {
    repeated(
        (current, file, end) -> {
          long fileLength = current.size();
          if (end < 0 || end > fileLength) {
            throw new IllegalArgumentException(
                "truncate to " + end + " bytes of a file of " + fileLength + " bytes: " + file);
          }
          return current.truncate(end);
        },
        name,
        length);
  }

  @Override
  public void close() throws IOException {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    storage.forget(this);
    try (AsynchronousFileChannel handle = syncHandle) {
      channel.close();
    }
  }

  synchronized int generation() {
    return generation;
  }

  private <A, T> T repeated(Attempt<A, T> attempt, A argument, long number) throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      FileChannel current = channel;
      while (true) {
        try {
          return attempt.run(current, argument, number);
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
          current = replacementOf(current);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Called by each thread that lost a channel; the first one opens the next. */
  private synchronized FileChannel replacementOf(FileChannel lost) throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
    if (channel == lost) {
      channel = storage.reopen(this);
      generation++;
    }
    return channel;
  }

  private static void requireDirect(ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException("heap buffer");
    }
  }

  /** Separate from its arguments, so that a write allocates nothing. */
  private interface Attempt<A, T> {
    T run(FileChannel channel, A argument, long number) throws IOException;
  }
}
