package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.StorageException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Pages of the log that the device does not give, as in {@link PageFaultsTest}: when the store is
 * opened they are not what a crash has left, and a write is not to blame for what was read of them
 * before. In processes of their own.
 */
final class UnreadableLogTest {
  @TempDir Path directory;

  @Test
  void theLogIsNotCutWhereItCannotBeRead() throws Exception {
    assertNothingWrong(Opening.class);
  }

  @Test
  void aWriteBehindAViewOfALostPageLeavesTheStoreAtWork() throws Exception {
    assertNothingWrong(Writing.class);
  }

  private void assertNothingWrong(Class<?> program) throws Exception {
    assertEquals("[]", JavaProcess.answer(program, directory.toString()));
  }

  private static byte[] key(int number) {
    return new byte[] {7, (byte) (number >>> 8), (byte) number};
  }

  private static byte[] value(int number, int length) {
    byte[] value = new byte[length];
    Arrays.fill(value, (byte) (number % 127 + 1));
    return value;
  }

  private static Path segment(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .filter(path -> path.toString().endsWith(".vlog"))
          .sorted()
          .findFirst()
          .orElseThrow();
    }
  }

  private static void truncate(Path file, long length) throws IOException {
    try (var channel = Files.newByteChannel(file, StandardOpenOption.WRITE)) {
      channel.truncate(length / 4096 * 4096);
    }
  }

  /** Prints what was not as it should be. */
  static final class Opening {
    private static final int KEYS = 3_000;
    private static final int VALUE_BYTES = 300;
    private static final int CUT_BYTES_MIN = 100_000;

    /** Cuts the log once it is mapped. */
    private static final class Cutting extends ForwardingStorage {
      private final Path directory;
      private boolean armed;
      private @Nullable Path cut;
      private byte[] whole = {};

      Cutting(Path directory) throws IOException {
        super(new FileStorage(directory, /* mayCreate= */ true));
        this.directory = directory;
      }

      void mend() throws IOException {
        if (cut != null) {
          Files.write(cut, whole, StandardOpenOption.WRITE);
        }
      }

      @Override
      public StorageFile open(String name, boolean writable) throws IOException {
        StorageFile file = super.open(name, writable);
        return !armed || !name.endsWith(".vlog")
            ? file
            : new ForwardingFile(file) {
              @Override
              public ByteBuffer map(long length) throws IOException {
                ByteBuffer mapping = super.map(length);
                Path log = directory.resolve(name);
                if (armed && length > CUT_BYTES_MIN) {
                  armed = false;
                  cut = log;
                  whole = Files.readAllBytes(log);
                  UnreadableLogTest.truncate(log, length / 2);
                }
                return mapping;
              }
            };
      }
    }

    public static void main(String[] arguments) throws IOException {
      System.out.println(run(Path.of(arguments[0])));
    }

    private static List<String> run(Path directory) throws IOException {
      List<String> wrong = new ArrayList<>();
      Path crashed = Files.createDirectory(directory.resolve("crashed"));
      try (KvStore store = open(new Cutting(Files.createDirectory(directory.resolve("store"))))) {
        for (int i = 0; i < KEYS; i++) {
          store.put(key(i), value(i, VALUE_BYTES));
        }
        copy(directory.resolve("store"), crashed);
      }
      Cutting storage = new Cutting(crashed);
      storage.armed = true;
      try (KvStore store = open(storage)) {
        wrong.add("opened with " + store.stats().tornBytes() + " bytes cut off");
      } catch (StorageException e) {
        if (!(e.getCause() instanceof InternalError)) {
          wrong.add("opening has cause " + e.getCause());
        }
      }
      if (storage.armed) {
        wrong.add("no log was cut");
      }
      storage.mend();
      try (KvStore store = open(new Cutting(crashed))) {
        for (int i = 0; i < KEYS; i++) {
          if (!Arrays.equals(value(i, VALUE_BYTES), store.get(key(i)))) {
            wrong.add("another value of " + i);
          }
        }
      }
      return wrong;
    }

    /** Of a store at work, as a crash would leave it. */
    private static void copy(Path from, Path to) throws IOException {
      try (Stream<Path> files = Files.list(from)) {
        for (Path file : files.toList()) {
          Files.copy(file, to.resolve(file.getFileName()));
        }
      }
    }

    private static KvStore open(Cutting storage) {
      EngineConfig base = Engines.config(storage, new ManualScheduler(1, 1));
      Shape shape = Shape.forBudget(256 << 20, /* packsBlocks= */ false);
      EngineConfig config = ConfigDraft.of(base).segmentBytes(4 << 20).shape(shape).build();
      return new OpenStore(StorageEngine.open(config));
    }
  }

  /** Prints what was not as it should be. */
  static final class Writing {
    private static final int KEYS = 400;
    private static final int VALUE_BYTES = 20_000;

    private final List<String> wrong = new ArrayList<>();

    public static void main(String[] arguments) throws IOException {
      System.out.println(new Writing().run(Path.of(arguments[0])));
    }

    private List<String> run(Path directory) throws IOException {
      KvOptions options = KvOptions.builder().valueCompression(ValueCompression.NONE).build();
      try (KvStore store = KvStore.open(directory, options)) {
        for (int i = 0; i < KEYS; i++) {
          store.put(key(i), value(i, VALUE_BYTES));
        }
        store.compact();
      }
      try (KvStore store = KvStore.open(directory, options);
          KvCursor cursor = store.cursor(ScanOptions.all().prefetch(0))) {
        cursor.seek(key(KEYS / 2));
        ByteBuffer view = cursor.valueView();
        Path log = segment(directory);
        byte[] whole = Files.readAllBytes(log);
        truncate(log, whole.length / 8);
        for (int i = 0; i < 2_000; i++) {
          int at = i;
          look(view, at, "put", () -> store.put(key(KEYS), new byte[3]));
          look(
              view,
              at,
              "compareAndSet",
              () -> store.compareAndSet(key(KEYS), value(at, 3), new byte[3]));
        }
        Files.write(log, whole, StandardOpenOption.WRITE);
        store.put(key(KEYS), value(KEYS, VALUE_BYTES));
        for (int i = 0; i <= KEYS; i++) {
          if (!Arrays.equals(value(i, VALUE_BYTES), store.get(key(i)))) {
            wrong.add("another value of " + i);
          }
        }
      }
      return wrong;
    }

    /** Looks at a lost page and then writes. */
    private void look(ByteBuffer view, int at, String what, Runnable write) {
      try {
        view.get(at % VALUE_BYTES);
        write.run();
      } catch (InternalError e) {
        // The reader of a view gets the error, now or later.
      } catch (StorageException e) {
        if (!(e.getCause() instanceof InternalError) && wrong.size() < 10) {
          wrong.add(what + " has cause " + e.getCause());
        }
      } catch (RuntimeException e) {
        if (wrong.size() < 10) {
          wrong.add(what + " threw " + e);
        }
      }
    }
  }
}
