package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreLockedException;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opening while another one makes the store. */
@Tag("compiled")
final class OpenRaceTest {
  private static final String MANIFEST = StoreFiles.manifest(1);

  @TempDir Path directory;

  private @Nullable StorageEngine other;

  @AfterEach
  void closeOther() {
    if (other != null) {
      other.close();
    }
  }

  private Storage storage() throws IOException {
    return new FileStorage(directory, /* createIfMissing= */ true);
  }

  /** Makes the store and writes into it, so that its manifest has edits. */
  private void makeTheStore() throws IOException {
    other = Engines.open(storage(), new ManualScheduler(1, 1));
    other.writes().put(0, "key".getBytes(UTF_8), new byte[1], 0);
  }

  @Test
  void aStoreThatIsMadeBehindTheFirstLookIsLocked() throws IOException {
    Files.createFile(directory.resolve(MANIFEST));
    Storage looksEarly =
        new ForwardingStorage(storage()) {
          private boolean looked;

          @Override
          public List<String> list() throws IOException {
            List<String> names = super.list();
            if (!looked) {
              looked = true;
              makeTheStore();
            }
            return names;
          }
        };
    assertThrows(
        StoreLockedException.class, () -> Engines.open(looksEarly, new ManualScheduler(2, 1)));
  }

  @Test
  void aBeginningThatIsClearedAwayIsNone() throws IOException {
    Files.createFile(directory.resolve(MANIFEST));
    Storage looksLate =
        new ForwardingStorage(storage()) {
          @Override
          public StorageFile open(String name, boolean writable) throws IOException {
            if (name.equals(MANIFEST) && other == null) {
              Files.delete(directory.resolve(MANIFEST));
              try {
                return super.open(name, writable);
              } finally {
                makeTheStore();
              }
            }
            return super.open(name, writable);
          }
        };
    assertThrows(
        StoreLockedException.class, () -> Engines.open(looksLate, new ManualScheduler(2, 1)));
    assertTrue(other != null);
  }
}
