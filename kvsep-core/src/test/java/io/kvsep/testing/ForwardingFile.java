package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Leaves everything to the file behind it, as {@link ForwardingStorage} does for its storage. */
public abstract class ForwardingFile implements StorageFile {
  private final StorageFile file;

  protected ForwardingFile(StorageFile file) {
    this.file = file;
  }

  @Override
  public String name() {
    return file.name();
  }

  @Override
  public long length() throws IOException {
    return file.length();
  }

  @Override
  public void write(ByteBuffer source, long offset) throws IOException {
    file.write(source, offset);
  }

  @Override
  public int read(ByteBuffer target, long offset) throws IOException {
    return file.read(target, offset);
  }

  @Override
  public ByteBuffer map(long length) throws IOException {
    return file.map(length);
  }

  @Override
  public void sync() throws IOException {
    file.sync();
  }

  @Override
  public void truncate(long length) throws IOException {
    file.truncate(length);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
