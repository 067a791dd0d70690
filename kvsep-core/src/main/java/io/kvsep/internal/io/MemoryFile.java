package io.kvsep.internal.io;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NonWritableChannelException;

/** An open file of a {@link MemoryStorage}. Thread safe. */
final class MemoryFile implements StorageFile {
  private final String name;
  private final Content content;
  private final boolean writable;

  @GuardedBy("content")
  private boolean closed;

  MemoryFile(String name, Content content, boolean writable) {
    this.name = name;
    this.content = content;
    this.writable = writable;
    content.opened();
  }

  /**
   * The bytes of a file, in one direct buffer that is replaced when it is too short. Mappings are
   * views of it. Freed when the file has neither a name nor users, unless a mapping was made.
   */
  static final class Content {
    private static final int CAPACITY_MIN = 4 << 10;

    /** From here on growth is linear, so that little is reserved in vain. */
    private static final int GROWTH_MAX = 32 << 20;

    @GuardedBy("this")
    private ByteBuffer bytes = ByteBuffer.allocateDirect(0);

    @GuardedBy("this")
    private int length;

    /** Open files. */
    @GuardedBy("this")
    private int users;

    @GuardedBy("this")
    private boolean linked = true;

    /** Whether a view of the present buffer was handed out. */
    @GuardedBy("this")
    private boolean mapped;

    synchronized void opened() {
      users++;
    }

    synchronized void closed() {
      users--;
      freeIfUnused();
    }

    synchronized void unlink() {
      linked = false;
      freeIfUnused();
    }

    @GuardedBy("this")
    private void freeIfUnused() {
      if (!linked && users == 0) {
        replace(ByteBuffer.allocateDirect(0));
        length = 0;
      }
    }

    @GuardedBy("this")
    private void replace(ByteBuffer other) {
      ByteBuffer before = bytes;
      bytes = other;
      if (!mapped) {
        Region.ofMapping(before.clear()).free();
      }
      mapped = false;
    }

    @GuardedBy("this")
    private void reserve(String name, long needed) throws IOException {
      long capacity = bytes.capacity();
      if (needed <= capacity) {
        return;
      }
      if (needed > Integer.MAX_VALUE) {
        throw new IOException(name + " would be longer than 2 GiB");
      }
      long doubled = Math.max(CAPACITY_MIN, capacity + Math.min(capacity, GROWTH_MAX));
      int grown = (int) Math.min(Integer.MAX_VALUE, Math.max(needed, doubled));
      try {
        ByteBuffer longer = ByteBuffer.allocateDirect(grown);
        longer.put(0, bytes, 0, length);
        replace(longer);
      } catch (OutOfMemoryError e) {
        throw new IOException("no direct memory is left for " + name, e);
      }
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long length() throws IOException {
    synchronized (content) {
      requireOpen();
      return content.length;
    }
  }

  @Override
  public void write(ByteBuffer source, long offset) throws IOException {
    requireTransfer(source, offset);
    synchronized (content) {
      requireWritable();
      int count = source.remaining();
      if (count == 0) {
        return;
      }
      content.reserve(name, offset + count);
      // Direct memory is zeroed, but not after a truncation.
      for (int gap = content.length; gap < offset; gap++) {
        content.bytes.put(gap, (byte) 0);
      }
      content.bytes.put((int) offset, source, source.position(), count);
      source.position(source.limit());
      content.length = Math.max(content.length, (int) offset + count);
    }
  }

  @Override
  public int read(ByteBuffer target, long offset) throws IOException {
    requireTransfer(target, offset);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("read into a read-only buffer");
    }
    synchronized (content) {
      requireOpen();
      int count = (int) Math.min(target.remaining(), Math.max(0, content.length - offset));
      if (count > 0) {
        target.put(target.position(), content.bytes, (int) offset, count);
        target.position(target.position() + count);
      }
      return count;
    }
  }

  @Override
  public ByteBuffer map(long length) throws IOException {
    synchronized (content) {
      requireOpen();
      requireWithin(length);
      content.mapped = true;
      return content.bytes.slice(0, (int) length);
    }
  }

  @Override
  public void sync() throws IOException {
    synchronized (content) {
      requireWritable();
    }
  }

  @Override
  public void truncate(long length) throws IOException {
    synchronized (content) {
      requireWritable();
      requireWithin(length);
      content.length = (int) length;
    }
  }

  @Override
  public void close() {
    synchronized (content) {
      if (!closed) {
        closed = true;
        content.closed();
      }
    }
  }

  @GuardedBy("content")
  private void requireOpen() throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
  }

  @GuardedBy("content")
  private void requireWritable() throws IOException {
    if (!writable) {
      throw new NonWritableChannelException();
    }
    requireOpen();
  }

  @GuardedBy("content")
  private void requireWithin(long length) {
    if (length < 0 || length > content.length) {
      throw new IllegalArgumentException(
          length + " bytes of a file of " + content.length + " bytes: " + name);
    }
  }

  private static void requireTransfer(ByteBuffer buffer, long offset) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException("heap buffer");
    }
    if (offset < 0) {
      throw new IllegalArgumentException("negative offset: " + offset);
    }
  }
}
