package io.kvsep.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Measures how the machine scales with threads that share no written data: the upper bound for
 * readers of a store. Uses a mapped file far larger than the caches.
 */
final class MachineCommand {
  private static final int MAPPED_BYTES = 1 << 29;
  private static final int LINE_BYTES = 64;
  private static final int CHUNK_BYTES = 1024;

  /** Steps between two looks at the clock. */
  private static final int ROUND = 256;

  /** Receives results, once a run. */
  @SuppressWarnings("UnusedVariable") // Keeps the compiler from removing the work.
  private static volatile long blackHole;

  private MachineCommand() {}

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    Scaling scaling = Scaling.from(arguments, new Figures(System.out));
    arguments.requireAllUsed();
    Path directory = Directories.temporary();
    try (Cleanup removal = Cleanup.of(() -> Directories.remove(directory))) {
      MappedByteBuffer mapped = mapped(directory.resolve("mapped"));
      scaling.measure("arithmetic", MachineCommand::arithmetic);
      scaling.measure(
          "dependent random lines", (worker, running) -> dependent(mapped, worker, running));
      scaling.measure(
          "independent random lines", (worker, running) -> independent(mapped, worker, running));
      scaling.measure("random KiB", (worker, running) -> chunks(mapped, worker, running));
      scaling.measure("new byte[1024]", (worker, running) -> arrays(running));
    }
  }

  private static MappedByteBuffer mapped(Path file) {
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      ByteBuffer zeros = ByteBuffer.allocateDirect(1 << 20);
      for (int offset = 0; offset < MAPPED_BYTES; offset += zeros.capacity()) {
        zeros.clear();
        while (zeros.hasRemaining()) {
          channel.write(zeros);
        }
      }
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, MAPPED_BYTES).load();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long arithmetic(int worker, BooleanSupplier running) {
    long state = worker;
    long count = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        state = mix(state + 1);
      }
      count += ROUND;
    }
    blackHole = state;
    return count;
  }

  /** Each position depends on the previous read, as in a search. */
  private static long dependent(ByteBuffer mapped, int worker, BooleanSupplier running) {
    long state = worker;
    long count = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        state = mix(state + 1 + mapped.getLong(place(state, LINE_BYTES)));
      }
      count += ROUND;
    }
    blackHole = state;
    return count;
  }

  private static long independent(ByteBuffer mapped, int worker, BooleanSupplier running) {
    long state = worker;
    long sum = 0;
    long count = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        state = mix(state + 1);
        sum += mapped.getLong(place(state, LINE_BYTES));
      }
      count += ROUND;
    }
    blackHole = sum;
    return count;
  }

  /** Reads all lines of a chunk at a random position, as reading a value does. */
  private static long chunks(ByteBuffer mapped, int worker, BooleanSupplier running) {
    long state = worker;
    long count = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        int start = place(state, CHUNK_BYTES);
        long sum = 0;
        for (int offset = 0; offset < CHUNK_BYTES; offset += LINE_BYTES) {
          sum += mapped.getLong(start + offset);
        }
        state = mix(state + 1 + sum);
      }
      count += ROUND;
    }
    blackHole = state;
    return count;
  }

  private static long arrays(BooleanSupplier running) {
    byte[][] kept = new byte[ROUND][];
    long count = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        kept[i] = new byte[CHUNK_BYTES];
      }
      count += ROUND;
    }
    blackHole = kept[0] == null ? 0 : kept[0].length;
    return count;
  }

  private static int place(long state, int unitBytes) {
    return (int) (state & (MAPPED_BYTES / unitBytes - 1)) * unitBytes;
  }

  private static long mix(long value) {
    long mixed = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }
}
