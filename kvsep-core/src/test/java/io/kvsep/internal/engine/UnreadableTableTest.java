package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A table of whose mapping the device does not give a page, which the JVM says with an Error. */
final class UnreadableTableTest {
  private static final byte[] VALUE = new byte[30];

  private static byte[] key(String text) {
    return text.getBytes(UTF_8);
  }

  private static StorageEngine open(ForwardingStorage storage) {
    return Engines.open(storage, new ManualScheduler(1, 2));
  }

  /** Fails where one file is mapped, as if reading its first page had. */
  private static final class Unreadable extends ForwardingStorage {
    private final String unreadable;

    Unreadable(CrashableStorage storage, String unreadable) {
      super(storage);
      this.unreadable = unreadable;
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      return new ForwardingFile(file) {
        @Override
        public ByteBuffer map(long length) throws IOException {
          if (name().equals(unreadable)) {
            throw new InternalError("a fault occurred in an unsafe memory access operation");
          }
          return super.map(length);
        }
      };
    }
  }

  @Test
  void writersAndChoosersOfCompactionsGoOn() throws Exception {
    CrashableStorage files = new CrashableStorage();
    try (StorageEngine engine = open(new Unreadable(files, "none"))) {
      for (char letter = 'a'; letter <= 'z'; letter++) {
        engine.writes().put(0, key(letter + "1"), VALUE, 0);
      }
      engine.compact();
      engine.writes().deleteRange(0, key("g"), key("k"));
      engine.flush();
    }
    CrashableStorage after = files.crashKeepingAll();
    String deletes =
        Collections.max(
            after.list().stream()
                .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE)
                .toList());

    StorageEngine engine = open(new Unreadable(after, deletes));
    StorageException error =
        assertThrows(
            StorageException.class, () -> engine.reads().get(0, key("h1"), StoreReads.LATEST));
    assertInstanceOf(InternalError.class, error.getCause());
    assertArrayEquals(VALUE, engine.reads().get(0, key("m1"), StoreReads.LATEST));
    assertThrows(
        StorageException.class,
        () -> engine.writes().compareAndSet(0, key("h1"), VALUE, new byte[2]));
    for (int i = 0; i < 3; i++) {
      engine.writes().put(0, key("n1"), new byte[i], 0);
      engine.flush();
    }
    assertArrayEquals(new byte[2], engine.reads().get(0, key("n1"), StoreReads.LATEST));
    assertTrue(engine.writes().compareAndSet(0, key("n1"), new byte[2], null));
    assertNull(engine.reads().get(0, key("n1"), StoreReads.LATEST));
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), after.openFiles());
  }
}
