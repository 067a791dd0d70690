package io.kvsep.internal.backup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.sstable.TableWriter;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.SortedBlobWriter;
import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A file for whose buffer there is no memory is not left open, nor a buffer for want of a file. */
final class ScarceFilesTest {
  private static final StoreId STORE = new StoreId(1, 2);

  /** Memory that there is none of. */
  private static final class NoMemory extends MemoryLedger {
    @Override
    public Region allocate(MemoryPurpose purpose, long length) {
      throw new OutOfMemoryError("as a test wants it");
    }

    @Override
    public Region allocateUncleared(MemoryPurpose purpose, long length) {
      throw new OutOfMemoryError("as a test wants it");
    }
  }

  private final CrashableStorage disk = new CrashableStorage();

  @Test
  void theValuesOfALoadLeaveNothing() throws IOException {
    Frame.Encoding encoding = new Frame.Encoding(64, 128);
    assertThrows(
        OutOfMemoryError.class,
        () -> new SortedBlobWriter(disk, STORE, 1, new NoMemory(), encoding));
    assertEquals(List.of(), disk.list());
    assertEquals(List.of(), disk.openFiles());
  }

  /** The file stays: the caller that made it deletes it with others. */
  @Test
  void aTableIsClosed() throws IOException {
    StorageFile file = disk.create(StoreFiles.table(1));
    TableOptions options = TableOptions.defaults(STORE);
    assertThrows(OutOfMemoryError.class, () -> new TableWriter(file, 1, options, new NoMemory()));
    assertEquals(List.of(), disk.openFiles());
  }
}
