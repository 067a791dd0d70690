package io.kvsep.internal.memory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;

/** Maps files. {@code src/main/java22} has a second version of this class, see {@link RawBytes}. */
public final class MappedFiles {
  private MappedFiles() {}

  /** Read-only. */
  public static ByteBuffer map(FileChannel channel, long length) throws IOException {
    return channel.map(MapMode.READ_ONLY, 0, length);
  }
}
