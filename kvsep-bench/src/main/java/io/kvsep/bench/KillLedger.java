package io.kvsep.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * What a process that will be killed was told, in a file mapped by parent and child. The parent
 * sees a number as soon as the child has stored it: the page belongs to the operating system and
 * outlives both. Each number has one writing thread and only grows.
 *
 * <p>Thread safe.
 */
final class KillLedger {
  /** Numbers kept for each writer. */
  enum Entry {
    /** The last operation begun. */
    BEGUN,
    /** The last operation that the store acknowledged. */
    ACKNOWLEDGED,
    /** The last operation acknowledged with durability sync. */
    SYNCED,
    /** Generation of its keyspace when the process began. */
    GENERATION
  }

  /** Background work of the store, for the report. */
  enum Work {
    FLUSHES,
    COMPACTIONS,
    FILES_REWRITTEN
  }

  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Writers share no cache line. */
  private static final int WRITER_BYTES = 64;

  private final ByteBuffer bytes;
  private final int writers;

  private KillLedger(ByteBuffer bytes, int writers) {
    this.bytes = bytes;
    this.writers = writers;
  }

  /** Opens the file, or creates it. */
  static KillLedger open(Path file, int writers) {
    try (FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
      return new KillLedger(
          channel.map(MapMode.READ_WRITE, 0, (long) (writers + 1) * WRITER_BYTES), writers);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  long get(Entry entry, int writer) {
    return read(writer, entry.ordinal());
  }

  void set(Entry entry, int writer, long value) {
    write(writer, entry.ordinal(), value);
  }

  long get(Work work) {
    return read(writers, work.ordinal());
  }

  void set(Work work, long value) {
    write(writers, work.ordinal(), value);
  }

  private long read(int line, int index) {
    return (long) LONGS.getAcquire(bytes, line * WRITER_BYTES + index * Long.BYTES);
  }

  private void write(int line, int index, long value) {
    LONGS.setRelease(bytes, line * WRITER_BYTES + index * Long.BYTES, value);
  }
}
