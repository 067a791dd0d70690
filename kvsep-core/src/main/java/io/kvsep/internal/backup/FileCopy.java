package io.kvsep.internal.backup;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.EOFException;
import java.io.IOException;

public final class FileCopy {
  private static final int PIECE_BYTES = 256 << 10;

  private FileCopy() {}

  /**
   * Creates {@code target} from the first {@code length} bytes of {@code name} and syncs it, but
   * not its directory entry.
   *
   * @param pulse called before each piece; may throw
   */
  public static void copy(
      Storage from,
      String name,
      Storage to,
      String target,
      long length,
      MemoryLedger ledger,
      Runnable pulse)
      throws IOException {
    Region buffer = ledger.allocate(MemoryPurpose.READ, Math.max(1, Math.min(length, PIECE_BYTES)));
    try (StorageFile source = from.open(name, /* writable= */ false);
        StorageFile copy = to.create(target)) {
      NativeWindow window = new NativeWindow();
      for (long offset = 0; offset < length; offset += PIECE_BYTES) {
        pulse.run();
        int count = (int) Math.min(PIECE_BYTES, length - offset);
        if (source.read(window.over(buffer, 0, count), offset) < count) {
          throw new EOFException(name + " became shorter while it was read");
        }
        copy.write(window.over(buffer, 0, count), offset);
      }
      copy.sync();
    } finally {
      buffer.free();
    }
  }
}
