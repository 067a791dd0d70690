package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.io.StorageFile;
import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ShardCountTest {
  @TempDir Path directory;

  /** A directory that loses power, with groups that exist as soon as the number does. */
  private record Crashable(CrashableStorage storage) implements ShardCount.Directory {
    @Override
    public @Nullable String read(String name) throws IOException {
      if (!storage.exists(name)) {
        return null;
      }
      try (StorageFile file = storage.open(name, false)) {
        ByteBuffer content = ByteBuffer.allocateDirect((int) file.length());
        assertEquals(content.capacity(), file.read(content, 0));
        return US_ASCII.decode(content.flip()).toString();
      }
    }

    @Override
    public boolean hasGroups() throws IOException {
      return storage.exists("group");
    }

    @Override
    public void write(String name, String content) throws IOException {
      if (storage.exists(name)) {
        storage.delete(name);
      }
      try (StorageFile file = storage.create(name)) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(content.length());
        file.write(bytes.put(content.getBytes(US_ASCII)).flip(), 0);
        file.sync();
      }
    }

    @Override
    public void rename(String source, String target) throws IOException {
      storage.rename(source, target);
    }

    @Override
    public void sync() throws IOException {
      storage.syncDirectory();
    }
  }

  @Test
  void theNumberStays() {
    ShardCount.requireNone(directory);
    ShardCount.require(directory, 4);
    ShardCount.require(directory, 4);
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> ShardCount.require(directory, 3))
            .toString()
            .contains("has 4, not 3"));
    assertThrows(IllegalArgumentException.class, () -> ShardCount.requireNone(directory));
    assertFalse(Files.exists(directory.resolve(ShardCount.DRAFT)));
  }

  @Test
  void oneGroupDoesNotBecomeSeveral() throws IOException {
    Files.createDirectory(directory.resolve(RaftNode.groupId("kvsep").getUuid().toString()));
    assertThrows(IllegalArgumentException.class, () -> ShardCount.require(directory, 2));
  }

  /** Whenever power fails, and whatever it takes: with a group there is the number, as a whole. */
  @Test
  void powerLossLeavesTheNumberOrNothing() throws IOException {
    List<Long> seen = new ArrayList<>();
    for (long step = 1; ; step++) {
      CrashableStorage storage = new CrashableStorage();
      storage.freezeAt(step);
      boolean finished = firstStart(storage);
      for (CrashableStorage left : storage.crashStates(1_000)) {
        seen.add(step);
        Crashable directory = new Crashable(left);
        String number = directory.read(ShardCount.FILE);
        assertTrue(number == null || number.equals("4\n"), () -> "content " + number);
        assertFalse(number == null && directory.hasGroups(), "a group without the number");
        assertFalse(number == null && finished, "a start that finished");
        assertEquals(number == null, new ShardCount(directory).require(4));
        assertThrows(IllegalArgumentException.class, () -> new ShardCount(directory).require(3));
      }
      if (finished) {
        break;
      }
    }
    assertTrue(seen.size() > 10, seen::toString);
  }

  /** As a node does, which then makes its groups. False if power failed. */
  private static boolean firstStart(CrashableStorage storage) {
    try {
      assertTrue(new ShardCount(new Crashable(storage)).require(4));
      storage.create("group").close();
      storage.syncDirectory();
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
