package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.NonWritableChannelException;
import org.jspecify.annotations.Nullable;

/**
 * A file of a {@link FileStorage}. Owns its channels; mappings belong to whoever asked for them.
 *
 * <p>A thread that is interrupted in a call of {@link FileChannel} closes the channel for all its
 * users. So the flag is put aside for the length of an operation, and when an interrupt arrives in
 * the middle all the same, the channel is opened anew by the first who notices, and everyone
 * repeats what they did: all transfers are positional, so repeating is harmless. Only a file that
 * was deleted or replaced in the meantime cannot be opened again; its next operation fails.
 *
 * <p>Repeating is not harmless for a sync. The interrupt would replace the error of a failed sync,
 * and the repetition, on a channel opened after the kernel had reported the error once, would
 * succeed although the data is lost. Syncs therefore have a handle of their own, of a class that
 * interrupts do not close, opened before the first byte is written, so that it is told of every
 * failure.
 *
 * <p>Nor is it for a mapping, which Java makes and then forgets when an interrupt arrives
 * meanwhile. So files are mapped by a thread that nobody interrupts.
 *
 * <p>Thread safe.
 */
final class ChannelFile implements StorageFile {
  /**
   * Writes a buffer to where its position 0 would be. The buffer knows how far a write came even
   * when an interrupt hid the count it returned.
   */
  private static final Attempt<ByteBuffer, Boolean> WRITE =
      (current, source, base) -> {
        while (source.hasRemaining()) {
          current.write(source, base + source.position());
        }
        return true;
      };

  /** Fills a buffer from there, as far as the file goes. */
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

  // Both guarded by this.
  private boolean closed;
  private int generation;

  /** Takes over both channels. A file with a handle to sync is writable. */
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
  public void write(ByteBuffer source, long position) throws IOException {
    requireDirect(source);
    requirePosition(position);
    requireWritable();
    repeated(WRITE, source, position - source.position());
  }

  @Override
  public int read(ByteBuffer target, long position) throws IOException {
    requireDirect(target);
    requirePosition(position);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("read into a read-only buffer");
    }
    int start = target.position();
    repeated(READ, target, position - start);
    return target.position() - start;
  }

  @Override
  public ByteBuffer map(long length) throws IOException {
    // A mapping beyond the end of a writable file would extend the file without a word.
    long fileLength = length();
    if (length < 0 || length > fileLength || length > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "map of " + length + " bytes of a file of " + fileLength + " bytes: " + name);
    }
    return InterruptShield.call(
        () ->
            repeated(
                (current, mode, bytes) -> current.map(mode, 0, bytes), MapMode.READ_ONLY, length));
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
    requireWritable();
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

  /** How often the channel had to be opened anew. */
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

  /** Of several threads that lost the same channel, the first opens the next one for all. */
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

  private void requireWritable() {
    if (!writable) {
      throw new NonWritableChannelException();
    }
  }

  private static void requireDirect(ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException("heap buffer");
    }
  }

  private static void requirePosition(long position) {
    if (position < 0) {
      throw new IllegalArgumentException("negative position: " + position);
    }
  }

  /** What is tried, apart from what it is tried with, so that a write makes no object. */
  private interface Attempt<A, T> {
    T run(FileChannel channel, A argument, long number) throws IOException;
  }
}
