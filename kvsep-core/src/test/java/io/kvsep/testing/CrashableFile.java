package io.kvsep.testing;

import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NonWritableChannelException;

/**
 * An open file of a {@link CrashableStorage}; belongs to its lock, its faults and its fate. Thread
 * safe.
 */
final class CrashableFile implements StorageFile {
  private final CrashableStorage storage;
  private final Object mutex;
  private final String name;
  private final Inode inode;
  private final boolean writable;

  CrashableFile(CrashableStorage storage, String name, Inode inode, boolean writable) {
    this.storage = storage;
    this.mutex = storage.mutex();
    this.name = name;
    this.inode = inode;
    this.writable = writable;
  }

  @Override
  public String name() {
    return name.substring(name.indexOf('/') + 1);
  }

  Inode inode() {
    return inode;
  }

  @Override
  public long length() throws IOException {
    synchronized (mutex) {
      requireUsable();
      return inode.live().length();
    }
  }

  @Override
  public void write(ByteBuffer source, long offset) throws IOException {
    requireTransfer(source, offset);
    requireWritable();
    synchronized (mutex) {
      requireUsable();
      if (!source.hasRemaining()) {
        return;
      }
      int count = source.remaining();
      Fault fault = storage.beginOnFile(Operation.WRITE, name, name + " " + offset + "+" + count);
      if (fault == Fault.SHORT_WRITE) {
        writeSome(source, offset, count / 2);
        throw CrashableStorage.failure(Fault.EIO, name);
      }
      if (fault == Fault.LATE_EIO) {
        writeSome(source, offset, count);
        throw CrashableStorage.failure(Fault.EIO, name);
      }
      int fits = (int) Math.min(count, Math.max(0, storage.lengthMax(inode) - offset));
      writeSome(source, offset, fits);
      if (fits < count) {
        throw CrashableStorage.failure(Fault.ENOSPC, name);
      }
    }
  }

  private void writeSome(ByteBuffer source, long offset, int count) {
    if (count > 0) {
      byte[] bytes = new byte[count];
      source.get(bytes);
      inode.change(Change.write((int) offset, bytes));
    }
  }

  @Override
  public int read(ByteBuffer target, long offset) throws IOException {
    requireTransfer(target, offset);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("read into a read-only buffer");
    }
    synchronized (mutex) {
      requireUsable();
      int wanted = target.remaining();
      Fault fault = storage.beginOnFile(Operation.READ, name, name + " " + offset + "+" + wanted);
      int count = (int) Math.min(wanted, Math.max(0, inode.live().length() - offset));
      if (fault == Fault.EARLY_EOF) {
        count /= 2;
      }
      if (count > 0) {
        target.put(inode.live().array(), (int) offset, count);
      }
      return count;
    }
  }

  @Override
  public ByteBuffer map(long length) throws IOException {
    synchronized (mutex) {
      requireUsable();
      requireWithin(length, "map");
      storage.beginOnFile(Operation.MAP, name, name + " " + length);
      // Not asReadOnlyBuffer: only the original buffer can be freed.
      ByteBuffer mapped = ByteBuffer.allocateDirect((int) length);
      mapped.put(0, inode.live().array(), 0, (int) length);
      return mapped;
    }
  }

  @Override
  public void sync() throws IOException {
    requireWritable();
    synchronized (mutex) {
      requireUsable();
      if (storage.beginOnFile(Operation.SYNC, name, name) == Fault.SYNC_FAILS) {
        inode.forgetPending();
        throw CrashableStorage.failure(Fault.EIO, name);
      }
      inode.sync();
    }
  }

  @Override
  public void truncate(long length) throws IOException {
    requireWritable();
    synchronized (mutex) {
      requireUsable();
      requireWithin(length, "truncate");
      storage.beginOnFile(Operation.TRUNCATE, name, name + " " + length);
      if (length < inode.live().length()) {
        inode.change(Change.truncate((int) length));
      }
    }
  }

  @Override
  public void close() {
    synchronized (mutex) {
      storage.forget(this);
    }
  }

  private void requireWithin(long length, String what) {
    if (length < 0 || length > inode.live().length()) {
      int fileLength = inode.live().length();
      throw new IllegalArgumentException(
          what + " to " + length + " bytes of a file of " + fileLength + " bytes: " + name);
    }
  }

  private void requireUsable() throws IOException {
    if (!storage.isOpen(this)) {
      throw new ClosedChannelException();
    }
  }

  private void requireWritable() {
    if (!writable) {
      throw new NonWritableChannelException();
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
