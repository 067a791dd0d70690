package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.StorageException;
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * A page of a mapped file that was sound when its block or record was entered, is lost while a
 * cursor stands in it or a view is held, and comes back before the thread goes on: what was read
 * meanwhile is told to whom it belongs. In processes of their own: the JVM may deliver its error
 * late.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
final class LostPageTest {
  @TempDir Path directory;

  @Test
  void aCursorTellsOfWhatItReadInALostBlock() {
    Sample.of(List.of("values", "steps", "lastBlock"))
        .run(
            LostPageTest.class,
            "aCursorTellsOfWhatItReadInALostBlock",
            /* count= */ 1,
            (parts, seed) -> parts.forEach(part -> check(CursorProgram.class, part)));
  }

  @Test
  void aWriteDoesNotSufferFromAnotherStoresView() {
    Sample.of(List.of("view", "cursor"))
        .run(
            LostPageTest.class,
            "aWriteDoesNotSufferFromAnotherStoresView",
            /* count= */ 1,
            (parts, seed) -> parts.forEach(part -> check(ViewProgram.class, part)));
  }

  private void check(Class<?> program, String part) {
    try {
      String wrong = JavaProcess.answer(program, directory.resolve(part).toString(), part);
      assertEquals("[]", wrong, part);
    } catch (Exception e) {
      throw new AssertionError(part, e);
    }
  }

  /**
   * Loses pages and brings them back in a thread of its own, which the other one waits for without
   * leaving Java: there it would be told of an error that is pending.
   */
  private static final class Device {
    private final Path file;
    private final byte[] whole;
    private volatile boolean isAsked;
    private volatile boolean lost;

    Device(Path directory, String suffix) throws IOException {
      try (Stream<Path> files = Files.list(directory)) {
        file =
            files
                .filter(path -> path.toString().endsWith(suffix))
                .sorted()
                .findFirst()
                .orElseThrow();
      }
      whole = Files.readAllBytes(file);
      Thread thread = new Thread(this::serve, "device");
      thread.setDaemon(true);
      thread.start();
    }

    private void serve() {
      try {
        while (true) {
          if (isAsked) {
            set(!lost);
            lost = !lost;
            isAsked = false;
          }
          Thread.onSpinWait();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void set(boolean lose) throws IOException {
      if (lose) {
        try (var channel = Files.newByteChannel(file, StandardOpenOption.WRITE)) {
          channel.truncate(4096);
        }
      } else {
        Files.write(file, whole, StandardOpenOption.WRITE);
      }
    }

    void lose() {
      change(true);
    }

    void mend() {
      change(false);
    }

    private void change(boolean lose) {
      while (isAsked) {
        Thread.onSpinWait();
      }
      if (lost != lose) {
        isAsked = true;
        while (isAsked) {
          Thread.onSpinWait();
        }
      }
    }
  }

  /** Prints what was not as it should be. */
  static final class CursorProgram {
    private static final int KEYS = 4_000;
    private static final int FROM = KEYS / 2;

    private final List<String> wrong = new ArrayList<>();

    private static byte[] key(int number) {
      return new byte[] {7, (byte) (number >>> 8), (byte) number};
    }

    private static byte[] value(int number) {
      byte[] value = new byte[50];
      Arrays.fill(value, (byte) (number % 127 + 1));
      return value;
    }

    public static void main(String[] arguments) throws IOException {
      CursorProgram program = new CursorProgram();
      try {
        program.run(Path.of(arguments[0]), arguments[1]);
      } catch (RuntimeException | Error e) {
        program.wrong.add(e.toString());
      }
      System.out.println(program.wrong);
      Runtime.getRuntime().halt(0);
    }

    private void run(Path directory, String part) throws IOException {
      KvOptions options = KvOptions.builder().memoryBudgetBytes(16 << 20).build();
      try (KvStore store = KvStore.open(directory, options)) {
        for (int i = 0; i < KEYS; i++) {
          if (part.equals("values")) {
            store.put(key(i), value(i));
          } else {
            // These are stepped over one by one.
            store.put(key(i), value(i), Duration.ofHours(5));
          }
        }
        store.compact();
      }
      Device device = new Device(directory, ".sst");
      KvStore store = KvStore.open(directory, options);
      for (int steps = 5; steps < 205 && wrong.size() < 10; steps++) {
        byte[] end = part.equals("lastBlock") ? key(FROM + steps + 2) : null;
        ScanOptions scan = ScanOptions.range(null, end).prefetch(0);
        try (KvCursor cursor = store.cursor(scan)) {
          cursor.seek(key(FROM));
          for (int i = 0; i < steps; i++) {
            cursor.next();
          }
          boolean told =
              part.equals("values")
                  ? isTold(device, cursor, FROM + steps)
                  : isToldOnLeaving(device, cursor);
          if (!told) {
            wrong.add("nothing was told after " + steps);
          }
        }
      }
    }

    /** Whether a value is what it is, or cannot be read. */
    private static boolean isTold(Device device, KvCursor cursor, int number) {
      byte[] expected = value(number);
      byte[] value = expected;
      boolean told = false;
      device.lose();
      try {
        value = cursor.value();
      } catch (StorageException | InternalError e) {
        told = true;
      }
      device.mend();
      return told || Arrays.equals(expected, value);
    }

    private static boolean isToldOnLeaving(Device device, KvCursor cursor) {
      boolean isLost = false;
      try {
        device.lose();
        isLost = true;
        cursor.next();
        device.mend();
        isLost = false;
        // Longer than a block.
        boolean more = true;
        for (int i = 0; i < 150 && more; i++) {
          more = cursor.next();
        }
        return false;
      } catch (StorageException | InternalError e) {
        if (isLost) {
          device.mend();
        }
        return true;
      }
    }
  }

  /** Prints what was not as it should be. */
  static final class ViewProgram {
    private static final int ATTEMPTS = 50;
    private static final byte[] KEY = {1};
    private static final byte[] OTHER = {2};
    private static final byte[] SOURCE = {3, 10};

    private final List<String> wrong = new ArrayList<>();
    private final KvStore target;

    private ViewProgram(KvStore target) {
      this.target = target;
    }

    public static void main(String[] arguments) throws IOException {
      Path directory = Path.of(arguments[0]);
      KvOptions options =
          KvOptions.builder()
              .memoryBudgetBytes(16 << 20)
              .valueCompression(ValueCompression.NONE)
              .build();
      Path source = directory.resolve("source");
      try (KvStore store = KvStore.open(source, options)) {
        // More than a segment: the newest is read without a mapping.
        for (int i = 0; i < 200; i++) {
          store.put(new byte[] {3, (byte) i}, new byte[100_000]);
        }
      }
      Device device = new Device(source, ".vlog");
      KvStore from = KvStore.open(source, options);
      KvStore target = KvStore.open(directory.resolve("target"), options);
      ViewProgram program = new ViewProgram(target);
      try {
        program.run(from, device, arguments[1]);
      } catch (RuntimeException | Error e) {
        program.wrong.add(e.toString());
      }
      System.out.println(program.wrong);
      Runtime.getRuntime().halt(0);
    }

    private void run(KvStore from, Device device, String part) {
      if (part.equals("view")) {
        from.read(SOURCE, view -> write(view, device));
      } else {
        try (KvCursor cursor = from.cursor(ScanOptions.all())) {
          cursor.seek(SOURCE);
          write(cursor.valueView(), device);
        }
      }
      goOn();
    }

    private @Nullable Object write(ByteBuffer view, Device device) {
      if (!view.isDirect()) {
        wrong.add("the value was copied");
      }
      compile(view, device);
      for (int i = 0; i < ATTEMPTS; i++) {
        target.put(KEY, new byte[3]);
        byte read = 0;
        try {
          device.lose();
          read = read(view);
          device.mend();
        } catch (InternalError e) {
          // The JVM was quick, and the thread knows.
          device.mend();
          continue;
        }
        try {
          target.put(OTHER, new byte[] {read});
          wrong.add("the page that could not be read was not told of");
        } catch (StorageException | InternalError e) {
          // As it is, on the way there.
          if (e instanceof StorageException && !(e.getCause() instanceof InternalError)) {
            wrong.add("cause " + e.getCause());
          }
        }
      }
      return null;
    }

    private static byte read(ByteBuffer view) {
      return view.get(50_000);
    }

    /** Until reading, waiting and writing do not leave compiled code. */
    private void compile(ByteBuffer view, Device device) {
      int sum = 0;
      for (int i = 0; i < 300_000; i++) {
        sum += read(view);
        if (i % 10 == 0) {
          target.put(KEY, new byte[1]);
        }
      }
      for (int i = 0; i < ATTEMPTS; i++) {
        device.lose();
        device.mend();
      }
      if (sum != 0) {
        throw new AssertionError("another value");
      }
    }

    private void goOn() {
      target.put(KEY, new byte[4]);
      if (!Arrays.equals(target.get(KEY), new byte[4])) {
        wrong.add("the store does not go on");
      }
      target.close();
    }
  }
}
