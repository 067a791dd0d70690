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
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What compactions and reclaim read lies in pages of mapped files that the device does not give, as
 * in {@link PageFaultsTest}, and then gives again. In processes of their own, which such a page can
 * take down where code of the JVM itself reads it.
 */
final class UnreadableInputTest {
  @TempDir Path directory;

  @Test
  void maintenanceFailsAndSucceedsOnceTheStoreIsReopened() {
    Sample.of(
            List.of(
                List.of(".sst", "50", "compact"),
                List.of(".sst", "50", "reclaim"),
                List.of(".vlog", "5000", "reclaim")))
        .run(
            UnreadableInputTest.class,
            "maintenanceFailsAndSucceedsOnceTheStoreIsReopened",
            /* count= */ 1,
            (cases, seed) -> cases.forEach(this::checkMaintenance));
  }

  private void checkMaintenance(List<String> one) {
    Path own = directory.resolve(String.join("-", one));
    try {
      assertNothingWrong(Maintenance.class, own.toString(), one.get(0), one.get(1), one.get(2));
    } catch (Exception e) {
      throw new AssertionError(one.toString(), e);
    }
  }

  /** Behind the last block no other is entered, at which it would show. */
  @Test
  void aPageOfTheLastBlockGoesWhileACompactionReadsIt() throws Exception {
    assertNothingWrong(LastBlock.class, directory.toString());
  }

  private static void assertNothingWrong(Class<?> program, String... arguments) throws Exception {
    assertEquals("[]", JavaProcess.answer(program, arguments));
  }

  private static void fails(List<String> wrong, String what, Runnable call) {
    try {
      call.run();
      wrong.add(what + " succeeded");
    } catch (StorageException e) {
      if (!(e.getCause() instanceof InternalError)) {
        wrong.add(what + " has cause " + e.getCause());
      }
    } catch (RuntimeException | Error e) {
      wrong.add(what + " threw " + e);
    }
  }

  /** Files cut short, at the end of a page: the one with the end in it can be read. */
  private static final class Cut {
    private static final int PAGE_BYTES = 4096;

    private final Map<Path, byte[]> whole = new HashMap<>();

    void cut(Path file, long length) throws IOException {
      whole.put(file, Files.readAllBytes(file));
      try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
        open.setLength(length / PAGE_BYTES * PAGE_BYTES);
      }
    }

    /** In place, since the files are mapped. */
    void mend() throws IOException {
      for (Map.Entry<Path, byte[]> file : whole.entrySet()) {
        try (RandomAccessFile open = new RandomAccessFile(file.getKey().toFile(), "rw")) {
          open.write(file.getValue());
        }
      }
    }
  }

  private static List<Path> files(Path directory, String suffix) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return new ArrayList<>(
          files.filter(path -> path.toString().endsWith(suffix)).sorted().toList());
    }
  }

  /** Prints what was not as it should be. */
  static final class Maintenance {
    private static final int KEYS = 2_000;

    /** Enough for the compilers of the JVM, whose code raises the error later. */
    private static final int ROUNDS = 12;

    private final List<String> wrong = new ArrayList<>();
    private final int[] generations = new int[KEYS + 1];
    private final Path directory;
    private final String suffix;
    private final int valueBytes;

    private Maintenance(Path directory, String suffix, int valueBytes) {
      this.directory = directory;
      this.suffix = suffix;
      this.valueBytes = valueBytes;
    }

    public static void main(String[] arguments) throws IOException {
      Maintenance program =
          new Maintenance(Path.of(arguments[0]), arguments[1], Integer.parseInt(arguments[2]));
      System.out.println(program.run(arguments[3]));
    }

    private List<String> run(String call) throws IOException {
      KvOptions options =
          KvOptions.builder()
              .memoryBudgetBytes(16 << 20)
              .valueCompression(ValueCompression.NONE)
              .build();
      try (KvStore store = KvStore.open(directory, options)) {
        for (int round = 0; round < ROUNDS; round++) {
          put(store, 1);
          store.compact();
          store.reclaim();
        }
      }
      try (KvStore store = KvStore.open(directory, options)) {
        put(store, 2);
        check(store);
        Cut cut = new Cut();
        for (Path file : inputs()) {
          cut.cut(file, Files.size(file) / 2);
        }
        for (int i = 0; i < 4; i++) {
          if (call.equals("compact")) {
            fails(wrong, call, store::compact);
          } else if (store.reclaim().damagedFiles().isEmpty()) {
            wrong.add("no file is reported");
          }
        }
        goOn(store);
        cut.mend();
        check(store);
      }
      try (KvStore store = KvStore.open(directory, options)) {
        maintenance(store, call);
        check(store);
        requireNoDamage(store);
      }
      return wrong;
    }

    private static void maintenance(KvStore store, String call) {
      if (call.equals("compact")) {
        store.compact();
      } else {
        store.reclaim();
      }
    }

    private void requireNoDamage(KvStore store) {
      wrong.addAll(store.stats().reclaim().damagedFiles());
      store.verify().problems().forEach(problem -> wrong.add(problem.toString()));
    }

    /** All but the file of the log that is being written. */
    private List<Path> inputs() throws IOException {
      List<Path> files = files(directory, suffix);
      if (suffix.equals(".vlog")) {
        files.remove(files.size() - 1);
      }
      if (files.isEmpty()) {
        wrong.add("no files to cut");
      }
      return files;
    }

    private void goOn(KvStore store) {
      generations[KEYS] = 1;
      store.put(key(KEYS), new byte[3]);
      if (!store.compareAndSet(key(KEYS), new byte[3], value(KEYS))
          || !Arrays.equals(value(KEYS), store.get(key(KEYS)))) {
        wrong.add("the store does not go on");
      }
    }

    private void put(KvStore store, int step) {
      for (int i = 0; i < KEYS; i += step) {
        generations[i]++;
        store.put(key(i), value(i));
      }
    }

    private void check(KvStore store) {
      for (int i = 0; i < KEYS; i++) {
        if (!Arrays.equals(value(i), store.get(key(i)))) {
          wrong.add("another value of " + i);
        }
      }
    }

    private byte[] value(int number) {
      byte[] value = new byte[valueBytes];
      new Random(number * 31L + generations[number]).nextBytes(value);
      return value;
    }

    private static byte[] key(int number) {
      return new byte[] {7, (byte) (number >>> 8), (byte) number};
    }
  }

  /** Prints what was not as it should be. */
  static final class LastBlock {
    private static final byte[] FIRST = {1};
    private static final byte[] LONG = {5};
    private static final byte[] LAST = {9};

    /** Makes an entry a block of its own, with only its beginning in the first page. */
    private static final int VALUE_BYTES = 9_000;

    /** Cuts a table when it is a compaction that makes another. */
    private static final class Cutting extends ForwardingStorage {
      private final Cut cut = new Cut();
      private @Nullable Path victim;
      private int tablesUntilCut;

      Cutting(Path directory) throws IOException {
        super(new FileStorage(directory, /* mayCreate= */ true));
      }

      @Override
      public StorageFile create(String name) throws IOException {
        if (name.endsWith(".sst") && --tablesUntilCut == 0 && victim != null) {
          cut.cut(victim, Cut.PAGE_BYTES);
        }
        return super.create(name);
      }
    }

    public static void main(String[] arguments) throws IOException {
      System.out.println(run(Path.of(arguments[0])));
    }

    private static List<String> run(Path directory) throws IOException {
      List<String> wrong = new ArrayList<>();
      Cutting storage = new Cutting(directory);
      EngineConfig base = Engines.config(storage, new ManualScheduler(1, 1));
      Shape shape = Shape.forBudget(16 << 20, /* packsBlocks= */ false);
      EngineConfig config =
          ConfigDraft.of(base).inlineValueBytesMax(VALUE_BYTES).shape(shape).build();
      try (KvStore store = new OpenStore(StorageEngine.open(config))) {
        store.put(LONG, value());
        store.compact();
        storage.victim = files(directory, ".sst").get(0);
        // A table on both sides of the one that was made, to be merged with it.
        store.put(FIRST, FIRST);
        store.put(LAST, LAST);
        // The first table is that of the memtable.
        storage.tablesUntilCut = 2;
        fails(wrong, "compact", store::compact);
        if (storage.tablesUntilCut > 0) {
          wrong.add("no table was cut");
        }
        storage.cut.mend();
        check(wrong, store, FIRST, FIRST);
        check(wrong, store, LONG, value());
        check(wrong, store, LAST, LAST);
        store.verify().problems().forEach(problem -> wrong.add(problem.toString()));
      }
      return wrong;
    }

    private static void check(List<String> wrong, KvStore store, byte[] key, byte[] value) {
      if (!Arrays.equals(value, store.get(key))) {
        wrong.add("another value of " + key[0]);
      }
    }

    private static byte[] value() {
      byte[] value = new byte[VALUE_BYTES];
      new Random(3).nextBytes(value);
      return value;
    }
  }
}
