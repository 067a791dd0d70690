package io.kvsep.error;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import org.junit.jupiter.api.Test;

final class StorageExceptionTest {
  private static String message(String what, Throwable cause) {
    return String.valueOf(new StorageException(what, cause).getMessage());
  }

  @Test
  void theMessageHasTheReasonOfTheDevice() {
    IOException full = new IOException("No space left on device");
    assertEquals(
        "cannot write the log: No space left on device", message("cannot write the log", full));
    assertEquals(
        "memtables are full: cannot write table 2: No space left on device",
        message("memtables are full", new StorageException("cannot write table 2", full)));
    FileSystemException named = new FileSystemException("/data/2.sst", null, "Disk quota exceeded");
    assertEquals(
        "cannot write table 2: /data/2.sst: Disk quota exceeded",
        message("cannot write table 2", named));
  }

  @Test
  void theMessageRepeatsNothing() {
    assertEquals(
        "cannot read: Input/output error",
        message("cannot read: Input/output error", new IOException("Input/output error")));
    assertEquals(
        "/copy is there already",
        message("/copy is there already", new FileAlreadyExistsException("/copy/CURRENT")));
    assertEquals("cannot read a page", message("cannot read a page", new InternalError("a fault")));
    assertEquals("cannot read", message("cannot read", new IOException()));
  }
}
