package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An interrupt in the middle of mapping a file leaves no mapping behind. */
final class MappingInterruptTest {
  private static final Path MAPS = Path.of("/proc/self/maps");
  private static final int LENGTH = 1 << 20;
  private static final int MAPPINGS = 10_000;

  @TempDir Path directory;

  @Test
  void everyMappingOfAnInterruptedThreadIsGivenBack() throws Exception {
    assumeTrue(Files.exists(MAPS));
    AtomicBoolean over = new AtomicBoolean();
    Thread mapper = Thread.currentThread();
    Thread interrupter = new Thread(() -> interruptUntil(over, mapper));
    try (FileStorage storage = new FileStorage(directory, /* createIfMissing= */ true)) {
      try (StorageFile file = storage.create("1.vlog")) {
        file.write(ByteBuffer.allocateDirect(LENGTH), 0);
      }
      interrupter.start();
      for (int i = 0; i < MAPPINGS; i++) {
        try (StorageFile file = storage.open("1.vlog", /* writable= */ false)) {
          Region mapping = Region.ofMapping(file.map(LENGTH));
          assertEquals(LENGTH, mapping.length());
          mapping.free();
        }
      }
    } finally {
      over.set(true);
      while (interrupter.isAlive()) {
        Thread.onSpinWait();
      }
      Thread.interrupted();
    }
    assertEquals(0, mappings());
  }

  private static void interruptUntil(AtomicBoolean over, Thread thread) {
    Random random = new Random(1);
    while (!over.get()) {
      thread.interrupt();
      for (int i = random.nextInt(1_000); i > 0; i--) {
        Thread.onSpinWait();
      }
    }
  }

  private long mappings() throws IOException {
    try (Stream<String> lines = Files.lines(MAPS)) {
      return lines.filter(line -> line.contains(directory.toString())).count();
    }
  }
}
