package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MemoryStorageTest extends StorageContract {
  @TempDir Path folder;

  @Override
  protected Storage emptyStorage() {
    return new MemoryStorage();
  }

  @Override
  protected Path beside(String name) {
    return folder.resolve(name);
  }

  @Override
  protected boolean links() {
    return false;
  }

  @Test
  void aFileGrowsPieceByPieceAndKeepsEarlierMappings() throws IOException {
    byte[] content = random(300_000, 7);
    Random random = new Random(8);
    try (StorageFile file = storage.create("a")) {
      ByteBuffer early = null;
      int length = 0;
      while (length < content.length) {
        int count = Math.min(content.length - length, 1 + random.nextInt(3_000));
        ByteBuffer source = ByteBuffer.allocateDirect(count);
        file.write(source.put(content, length, count).flip(), length);
        length += count;
        if (early == null && length > 10_000) {
          early = file.map(10_000);
        }
      }
      assertArrayEquals(content, contents(file));
      assertArrayEquals(Arrays.copyOf(content, 10_000), bytes(Objects.requireNonNull(early)));
    }
  }

  @Test
  void aDeletedFileStaysForThoseWhoHaveItOpen() throws IOException {
    StorageFile first = storage.create("a");
    first.write(direct((byte) 1), 0);
    StorageFile second = storage.open("a", false);
    storage.delete("a");
    first.close();
    assertArrayEquals(new byte[] {1}, contents(second));
    second.close();
    try (StorageFile other = storage.create("a")) {
      assertEquals(0, other.length());
    }
  }
}
