package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.RepairHistory.Outcome;
import io.kvsep.error.StorageException;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.repair.ReadableFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Repair of files with pages that the device cannot read: these count as damaged. */
final class RepairUnreadableTest {
  private static final int SEEDS = 40;

  /** Of a short run. */
  private static final int DRAWN = 3;

  private static final int STEPS = 400;
  private static final int PAGE_BYTES = 4096;
  private static final int KEYS = 300;
  private static final int VALUE_BYTES = 1_000;

  @TempDir Path folder;

  /** A device with bad pages. */
  private static class BadPages extends ForwardingStorage {
    private final Map<String, Set<Long>> pages = new TreeMap<>();

    BadPages(Storage storage) {
      super(storage);
    }

    void add(String name, long page) {
      pages.computeIfAbsent(name, any -> new TreeSet<>()).add(page);
    }

    Set<Long> of(String name) {
      return pages.getOrDefault(name, Set.of());
    }

    private void require(String name, long from, long to) throws IOException {
      for (long page : of(name)) {
        if (page * PAGE_BYTES < to && (page + 1) * PAGE_BYTES > from) {
          throw new IOException("Input/output error");
        }
      }
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      return new ForwardingFile(file) {
        @Override
        public int read(ByteBuffer target, long offset) throws IOException {
          require(name(), offset, offset + target.remaining());
          return super.read(target, offset);
        }

        @Override
        public ByteBuffer map(long length) throws IOException {
          return BadPages.this.map(file, length);
        }
      };
    }

    ByteBuffer map(StorageFile file, long length) throws IOException {
      require(file.name(), 0, length);
      return file.map(length);
    }
  }

  @Test
  void pagesThatCannotBeReadLoseNoMoreThanIsListed() {
    Seeds.some(
        getClass(),
        SEEDS,
        DRAWN,
        random -> {
          RepairHistory history = new RepairHistory(random, random.nextBoolean());
          Map<String, byte[]> files = RepairHistory.files(history.run(STEPS, random.nextBoolean()));
          List<String> names =
              files.keySet().stream().filter(name -> !name.endsWith(".tmp")).toList();
          for (int i = 0; i < 10; i++) {
            CrashableStorage damaged = RepairHistory.storageOf(files);
            CrashableStorage copies = new CrashableStorage();
            BadPages device = new BadPages(damaged);
            Set<String> bad = new TreeSet<>();
            for (int j = random.nextInt(3); j >= 0; j--) {
              String name = names.get(random.nextInt(names.size()));
              int length = damaged.contents(name).length;
              device.add(name, random.nextInt(1 + length / PAGE_BYTES));
              bad.add(name);
            }
            bad.removeIf(name -> isReadable(device, name, files));
            ReadableFiles readable = ReadableFiles.of(device, copies);
            assertEquals(bad.isEmpty(), readable.isWhole());
            assertEquals(bad.size(), readable.notes().size());

            Outcome outcome = history.repair(damaged, readable);

            assertEquals(List.of(), history.faults(outcome), bad::toString);
            assertEquals(List.of(), copies.openFiles());
          }
        });
  }

  /** A page behind the end belongs to no table. */
  private static boolean isReadable(BadPages device, String name, Map<String, byte[]> files) {
    int length = files.getOrDefault(name, new byte[0]).length;
    return device.of(name).stream().allMatch(page -> page * PAGE_BYTES >= length);
  }

  @Test
  void onlyReadingIsPossible() throws IOException {
    CrashableStorage damaged = new CrashableStorage();
    damaged.replace("000001.sst", new byte[3 * PAGE_BYTES]);
    BadPages device = new BadPages(damaged);
    device.add("000001.sst", 1);
    ReadableFiles readable = ReadableFiles.of(device, new CrashableStorage());
    assertThrows(UnsupportedOperationException.class, () -> readable.create("000002.sst"));
    assertThrows(UnsupportedOperationException.class, () -> readable.open("000001.sst", true));
    assertThrows(UnsupportedOperationException.class, () -> readable.delete("000001.sst"));
    assertThrows(UnsupportedOperationException.class, () -> readable.rename("000001.sst", "a"));
    assertEquals(
        List.of(
            "4096 of 12288 bytes of 000001.sst could not be read, the first at offset 4096: they"
                + " were taken for damaged."),
        readable.notes());
  }

  /** Zeros are what a file system shows where nothing was written. */
  @Test
  void whatCannotBeReadIsNotEmpty() throws IOException {
    CrashableStorage damaged = new CrashableStorage();
    byte[] bytes = new byte[2 * PAGE_BYTES + 100];
    Arrays.fill(bytes, (byte) 7);
    damaged.replace("000001.vlog", bytes);
    BadPages device = new BadPages(damaged);
    device.add("000001.vlog", 1);
    ReadableFiles readable = ReadableFiles.of(device, new CrashableStorage());
    ByteBuffer seen = ByteBuffer.allocateDirect(bytes.length);
    try (StorageFile file = readable.open("000001.vlog", /* writable= */ false)) {
      assertEquals(bytes.length, file.length());
      assertEquals(bytes.length, file.read(seen, 0));
    }
    for (int i = 0; i < bytes.length; i++) {
      boolean bad = i / PAGE_BYTES == 1;
      assertTrue(bad ? seen.get(i) != 0 && seen.get(i) != 7 : seen.get(i) == 7, "byte " + i);
    }
  }

  @Test
  void aStoreWithABadPageInItsLogIsRepaired() throws IOException {
    Path damaged = fill(folder);
    try (FileStorage files = new FileStorage(damaged, /* createIfMissing= */ false)) {
      BadPages device = new BadPages(files);
      device.add("000001.vlog", 20);

      RepairReport report = StoreRepair.run(device, folder.resolve("new"), KvOptions.defaults());

      assertEquals(List.of(), problems(report, folder.resolve("new")));
      assertTrue(report.notes().get(0).startsWith("4096 of "), report::toString);
      assertEquals(List.of("damaged", "new"), names(folder));
    }
  }

  @Test
  void whatNoFileExplainsIsTheErrorItWas() throws IOException {
    Path damaged = fill(folder);
    StorageException failure = new StorageException("no", new IOException("no"));
    try (FileStorage files = new FileStorage(damaged, /* createIfMissing= */ false)) {
      BadPages device =
          new BadPages(files) {
            @Override
            ByteBuffer map(StorageFile file, long length) {
              throw failure;
            }
          };
      StorageException thrown =
          assertThrows(
              StorageException.class,
              () -> StoreRepair.run(device, folder.resolve("new"), KvOptions.defaults()));
      assertEquals(failure, thrown);
      assertEquals(List.of("damaged"), names(folder));
    }
  }

  /** A mapping raises an error instead, whenever the JVM comes to it: in a process of its own. */
  @Test
  void aStoreWhoseMappedLogCannotBeReadIsRepaired() throws Exception {
    Process process = JavaProcess.start(Mapped.class, folder.toString());
    try {
      assertEquals("[]", JavaProcess.firstLine(process));
    } finally {
      process.destroyForcibly().waitFor(1, TimeUnit.MINUTES);
    }
  }

  /** Prints what was not as it should be. */
  static final class Mapped {
    private static final int BAD = 20;

    public static void main(String[] arguments) throws IOException {
      Path folder = Path.of(arguments[0]);
      Path damaged = fill(folder);
      Path cut = folder.resolve("cut");
      try (FileStorage files = new FileStorage(damaged, /* createIfMissing= */ false)) {
        BadPages device =
            new BadPages(files) {
              @Override
              ByteBuffer map(StorageFile file, long length) throws IOException {
                return of(file.name()).isEmpty()
                    ? file.map(length)
                    : cutMapping(damaged.resolve(file.name()), length, cut);
              }
            };
        device.add("000001.vlog", BAD);
        RepairReport report = StoreRepair.run(device, folder.resolve("new"), KvOptions.defaults());
        System.out.println(problems(report, folder.resolve("new")));
      }
    }

    /** Of a copy, which ends where the bad page begins. */
    private static ByteBuffer cutMapping(Path file, long length, Path cut) throws IOException {
      Files.copy(file, cut);
      try (FileChannel channel =
          FileChannel.open(cut, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        ByteBuffer mapping = channel.map(FileChannel.MapMode.READ_ONLY, 0, length);
        channel.truncate(BAD * PAGE_BYTES);
        return mapping;
      } finally {
        Files.delete(cut);
      }
    }
  }

  private static Path fill(Path folder) {
    Path directory = folder.resolve("damaged");
    KvOptions options = KvOptions.builder().valueCompression(ValueCompression.NONE).build();
    try (KvStore store = KvStore.open(directory, options)) {
      for (int i = 0; i < KEYS; i++) {
        store.put(key(i), value(i));
      }
    }
    return directory;
  }

  /** A page holds parts of six values at most; all others have to be there. */
  private static List<String> problems(RepairReport report, Path made) {
    List<String> problems = new ArrayList<>();
    int missing = 0;
    try (KvStore store = KvStore.open(made)) {
      for (int i = 0; i < KEYS; i++) {
        byte[] found = store.get(key(i));
        missing += found == null ? 1 : 0;
        if (found != null && !Arrays.equals(value(i), found)) {
          problems.add("wrong: " + i);
        }
      }
    }
    if (missing == 0 || missing > 6) {
      problems.add(missing + " values are missing");
    }
    if (report.isComplete()) {
      problems.add("a page cannot be read, and nothing is lost");
    }
    return problems;
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(path -> path.getFileName().toString()).sorted().toList();
    }
  }

  private static byte[] key(int number) {
    return new byte[] {7, (byte) (number >>> 8), (byte) number};
  }

  private static byte[] value(int number) {
    byte[] value = new byte[VALUE_BYTES];
    Arrays.fill(value, (byte) (number % 127 + 1));
    return value;
  }
}
