package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.error.StorageException;
import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A place that cannot be taken is found out first; if it is only at the end, nothing is lost. */
final class RepairTargetTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);

  @TempDir Path folder;
  private Path damaged;
  private Path target;

  @BeforeEach
  void makeStore() throws IOException {
    damaged = folder.resolve("damaged");
    try (KvStore store = KvStore.open(damaged)) {
      store.put(KEY, VALUE);
    }
    target = Files.createDirectory(folder.resolve("target"));
  }

  /** Does something as soon as the work has begun. */
  private static final class Begun extends ManualClock {
    private final Runnable action;

    Begun(Runnable action) {
      super(1_000_000);
      this.action = action;
    }

    @Override
    public long millis() {
      action.run();
      return super.millis();
    }
  }

  private StorageException refused(Runnable whenBegun) {
    KvOptions options = KvOptions.builder().clock(new Begun(whenBegun)).build();
    return assertThrows(StorageException.class, () -> KvStore.repair(damaged, target, options));
  }

  @Test
  void whatCannotBeMovedToItsPlaceStaysWhereItWasMade() {
    Path mine = target.resolve("mine");
    StorageException error =
        refused(
            () -> {
              try {
                Files.writeString(mine, "in the way");
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });

    Path made = folder.resolve("target.repair").resolve("store");
    assertTrue(String.valueOf(error.getMessage()).contains(made.toString()), error::toString);
    assertTrue(Files.exists(mine));
    try (KvStore store = KvStore.open(made)) {
      assertArrayEquals(VALUE, store.get(KEY));
      assertTrue(store.verify().isSound());
    }
  }

  @Test
  void aRefusedRepairLeavesNoDirectory() throws IOException {
    Files.delete(target);
    // Too long with what is put behind it while it is not whole.
    target = folder.resolve("missing").resolve("x").resolve("n".repeat(250));
    refused(() -> {});
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(List.of(damaged), files.toList());
    }
  }

  @Test
  void aMountPointIsRefusedBeforeAnythingIsDone() throws Exception {
    boolean mounted =
        RealFullDiskTest.run(
            List.of("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", target.toString()));
    assumeTrue(mounted, "skipped: no file system may be mounted here");
    try {
      refused(() -> assertEquals("refused at once", "begun"));
      try (Stream<Path> files = Files.list(folder)) {
        assertEquals(List.of(damaged, target), files.sorted().toList());
      }
      assertTrue(KvStore.repair(damaged, target.resolve("store")).isComplete());
    } finally {
      assertTrue(
          RealFullDiskTest.run(List.of("umount", target.toString())),
          "something in it is still open");
    }
  }
}
