package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a crash leaves of a directory in memory that is made beside a storage. */
final class CrashableDirectoryTest {
  @Test
  void theNameAndTheFilesAreDurableEachForThemselves() throws IOException {
    CrashableStorage disk = new CrashableStorage();
    try (NewDirectory made = disk.newDirectory(Path.of("new"))) {
      made.storage().create("a").close();
      made.publish();
    }
    disk.create("b").close();
    CrashableStorage after = disk.crashSyncedOnly();

    assertEquals(List.of("new"), after.directories());
    assertEquals(List.of(), after.directory("new").list());
    assertEquals(List.of(), after.list());
  }

  @Test
  void filesThatAreDurableAreThereOnlyUnderADurableName() throws IOException {
    CrashableStorage disk = new CrashableStorage();
    try (NewDirectory made = disk.newDirectory(Path.of("new"))) {
      made.storage().create("a").close();
      made.storage().syncDirectory();
      CrashableStorage after = disk.moment().crashSyncedOnly();
      assertEquals(List.of(), after.directories());
      assertThrows(IOException.class, () -> after.directory("new"));
      made.publish();
    }

    assertEquals(List.of("a"), disk.crashSyncedOnly().directory("new").list());
  }
}
