package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.StorageException;
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A table that is cut short under a cursor in the middle of a walk, and comes back: until the
 * cursor says that it cannot read on, and after it was told where to begin again, it finds the
 * entries in order. In a process of its own: the JVM tells of unreadable pages with an error that
 * it may deliver late.
 */
final class UnreadableScanTest {
  @TempDir Path directory;

  @Test
  void noEntryIsWrongBeforeOrAfterTheError() {
    // Walks before it; after many, the JVM has compiled them.
    Sample.of(List.of("0", "300000"))
        .run(
            UnreadableScanTest.class,
            "noEntryIsWrongBeforeOrAfterTheError",
            /* count= */ 1,
            (cases, seed) -> cases.forEach(this::check));
  }

  private void check(String walksBefore) {
    try {
      Path own = directory.resolve(walksBefore);
      assertEquals("[]", JavaProcess.answer(Program.class, own.toString(), walksBefore));
    } catch (Exception e) {
      throw new AssertionError(walksBefore, e);
    }
  }

  /** Prints what was not as it should be. */
  static final class Program {
    private static final int KEYS = 4_000;

    private final List<String> wrong = new ArrayList<>();

    private static byte[] key(int number) {
      return new byte[] {7, (byte) (number >>> 8), (byte) number};
    }

    private static byte[] value(int number) {
      byte[] value = new byte[50];
      Arrays.fill(value, (byte) (number % 127 + 1));
      return value;
    }

    private static int number(byte[] key) {
      return (key[1] & 0xff) << 8 | (key[2] & 0xff);
    }

    public static void main(String[] arguments) throws IOException {
      System.out.println(new Program().run(Path.of(arguments[0]), Integer.parseInt(arguments[1])));
    }

    private List<String> run(Path directory, int walksBefore) throws IOException {
      KvOptions options = KvOptions.builder().memoryBudgetBytes(16 << 20).build();
      try (KvStore store = KvStore.open(directory, options)) {
        for (int i = 0; i < KEYS; i++) {
          store.put(key(i), value(i));
        }
        store.compact();
      }
      Path table = table(directory);
      byte[] whole = Files.readAllBytes(table);
      KvStore store = KvStore.open(directory, options);
      compile(store, walksBefore);
      // Each position in a block is one of these, wherever blocks begin.
      for (int i = 0; i < 400; i++) {
        int from = KEYS / 2 + i / 2;
        int steps = i < 200 ? 4 : i / 4;
        try (KvCursor cursor = store.cursor(ScanOptions.all().prefetch(0))) {
          cursor.seek(key(KEYS / 4));
          walk(cursor, KEYS / 4, 100);
          cursor.seek(key(from));
          int at = walk(cursor, from, steps);
          truncate(table, whole.length / 8);
          int last = walkIntoError(cursor, at);
          Files.write(table, whole, StandardOpenOption.WRITE);
          cursor.seek(key(last));
          check(last, cursor);
          checkValue(last, cursor);
          walk(cursor, last, 100);
        }
      }
      store.close();
      return wrong;
    }

    /** Until a copy of a block is compiled into one piece with what asks for it. */
    private static void compile(KvStore store, int walks) {
      try (KvCursor cursor = store.cursor(ScanOptions.all().prefetch(0))) {
        for (int i = 0; i < walks; i++) {
          cursor.seek(key(i * 37 % (KEYS / 2)));
          for (int step = 0; step < 6; step++) {
            cursor.next();
          }
        }
      }
    }

    private int walk(KvCursor cursor, int from, int steps) {
      int at = from;
      for (int i = 0; i < steps; i++) {
        cursor.next();
        check(++at, cursor);
        checkValue(at, cursor);
      }
      return at;
    }

    /** The last key before the error. */
    private int walkIntoError(KvCursor cursor, int from) {
      int at = from;
      try {
        while (cursor.next()) {
          check(++at, cursor);
        }
        wrong.add("no error behind " + from);
      } catch (StorageException e) {
        if (!(e.getCause() instanceof InternalError)) {
          wrong.add("cause " + e.getCause());
        }
      }
      return at;
    }

    private void check(int expected, KvCursor cursor) {
      if (number(cursor.key()) != expected && wrong.size() < 10) {
        wrong.add(number(cursor.key()) + " in place of " + expected);
      }
    }

    private void checkValue(int expected, KvCursor cursor) {
      if (!Arrays.equals(value(expected), cursor.value()) && wrong.size() < 10) {
        wrong.add("another value of " + expected);
      }
    }

    private static Path table(Path directory) throws IOException {
      try (Stream<Path> files = Files.list(directory)) {
        return files.filter(path -> path.toString().endsWith(".sst")).findFirst().orElseThrow();
      }
    }

    private static void truncate(Path file, long length) throws IOException {
      try (var channel = Files.newByteChannel(file, StandardOpenOption.WRITE)) {
        channel.truncate(length);
      }
    }
  }
}
