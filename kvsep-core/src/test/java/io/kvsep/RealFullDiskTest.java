package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A disk that is really full: a small file system made for the test, where that is allowed (it
 * takes the rights of an administrator); skipped elsewhere. {@code FullDiskTest} imitates one.
 */
final class RealFullDiskTest {
  private static final int DISK_MEBIBYTES = 24;

  /** What another program takes and gives back. */
  private static final int BALLAST_BYTES = 8 << 20;

  private static final int WRITERS = 3;
  private static final int KEYS = 400;

  @TempDir Path parent;

  /** What was acknowledged last, by key. */
  private final Map<String, Integer> model = new ConcurrentSkipListMap<>();

  private Path disk = Path.of("none");
  private boolean mounted;

  private enum FileSystem {
    MEMORY,
    EXT4
  }

  private void mount(FileSystem system) throws Exception {
    disk = Files.createDirectory(parent.resolve("disk"));
    List<String> command;
    if (system == FileSystem.MEMORY) {
      command = List.of("mount", "-t", "tmpfs", "-o", "size=" + DISK_MEBIBYTES + "m", "tmpfs");
    } else {
      Path image = parent.resolve("image");
      try (var file = new RandomAccessFile(image.toFile(), "rw")) {
        file.setLength((long) DISK_MEBIBYTES << 20);
      }
      assumeTrue(
          run(List.of("mkfs.ext4", "-q", "-F", "-m", "0", image.toString())),
          "skipped: no ext4 file system can be made here");
      command = List.of("mount", "-o", "loop", image.toString());
    }
    List<String> words = new ArrayList<>(command);
    words.add(disk.toString());
    mounted = run(words);
    assumeTrue(mounted, "skipped: no file system may be mounted here");
  }

  @AfterEach
  void unmount() throws Exception {
    if (mounted) {
      assertTrue(run(List.of("umount", disk.toString())), "something on the disk is still open");
    }
  }

  /** Whether a command of the system succeeds. */
  static boolean run(List<String> words) throws InterruptedException {
    try {
      Process process =
          new ProcessBuilder(words)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor(60, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  @ParameterizedTest
  @EnumSource(FileSystem.class)
  void aFullDiskFailsWritesAloneAndLosesNothing(FileSystem system) throws Exception {
    mount(system);
    Path directory = disk.resolve("store");
    Path filler = Files.write(disk.resolve("ballast"), new byte[BALLAST_BYTES]);
    try (KvStore store = KvStore.open(directory, options())) {
      fillUp(store);
      for (int round = 0; round < 3; round++) {
        Path rest = fillRest();
        refusedOrDone(store::flush);
        refusedOrDone(store::compact);
        refusedOrDone(store::reclaim);
        check(store);
        assertTrue(writeAll(store, 100 + round, 1) > 0, "no write was refused on a full disk");
        check(store);
        Files.delete(rest);
        Files.delete(filler);
        free(store);
        assertEquals(0, writeAll(store, 200 + round, 5), "a write was refused with space");
        check(store);
        filler = Files.write(disk.resolve("ballast"), new byte[BALLAST_BYTES]);
      }
      fillRest();
      writeAll(store, 300, 1);
      refusedOrDone(store::close);
    }
    Files.delete(filler);
    try (KvStore again = KvStore.open(directory, options())) {
      check(again);
      free(again);
      assertEquals(0, writeAll(again, 400, 5));
      again.compact();
      check(again);
    }
  }

  /** Writes that are acknowledged although nothing of them was written. */
  @Test
  void canaryADeviceThatHidesThatItIsFullIsNoticed() throws Exception {
    mount(FileSystem.MEMORY);
    Files.write(disk.resolve("ballast"), new byte[(DISK_MEBIBYTES - 4) << 20]);
    Storage files = new FileStorage(disk.resolve("store"), /* createIfMissing= */ true);
    boolean noticed = false;
    try (KvStore store = OpenStore.open(hidingErrors(files), options())) {
      for (int i = 0; i < 4 * KEYS; i++) {
        put(store, i, i);
      }
      check(store);
    } catch (KvException | AssertionError e) {
      noticed = true;
    }
    assertTrue(noticed);
  }

  private static Storage hidingErrors(Storage storage) {
    return new LyingStorage(
        storage,
        LyingStorage.Lie.ERROR_SWALLOWED,
        (operation, kind) -> operation == Operation.WRITE && kind == StoreFiles.Kind.SEGMENT);
  }

  private static KvOptions options() {
    return KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();
  }

  /** Several writers until each was refused. */
  private void fillUp(KvStore store) throws InterruptedException {
    AtomicInteger refused = new AtomicInteger();
    List<Throwable> errors = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int writer = 0; writer < WRITERS; writer++) {
      int first = writer;
      threads.add(
          new Thread(
              () -> {
                try {
                  for (int i = first; ; i += WRITERS) {
                    put(store, i, i);
                  }
                } catch (StorageException e) {
                  refused.incrementAndGet();
                } catch (Throwable e) {
                  errors.add(e);
                }
              }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(120));
    }
    assertEquals(List.of(), errors);
    assertEquals(WRITERS, refused.get());
    check(store);
  }

  /** Leaves no byte free. */
  private Path fillRest() throws IOException {
    Path filler = disk.resolve("filler");
    for (int step : new int[] {64 << 10, 1}) {
      try (OutputStream out =
          Files.newOutputStream(filler, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
        byte[] bytes = new byte[step];
        while (true) {
          out.write(bytes);
        }
      } catch (IOException e) {
        assertTrue(Files.size(filler) >= 0, "full, at least for a step of this length");
      }
    }
    return filler;
  }

  private static void refusedOrDone(Runnable call) {
    try {
      call.run();
    } catch (StorageException e) {
      assertTrue(e.getCause() instanceof IOException, () -> "caused by " + e.getCause());
    }
  }

  /** Makes room by what the store itself can give back. */
  private void free(KvStore store) {
    store.deleteRange(key(KEYS), key(Integer.MAX_VALUE));
    model.keySet().removeIf(name -> name.compareTo(name(KEYS)) >= 0);
    store.reclaim();
  }

  /** Every {@code step}th key; how many were refused. */
  private int writeAll(KvStore store, int salt, int step) {
    int refused = 0;
    for (int i = 0; i < KEYS; i += step) {
      try {
        put(store, i, salt + i);
      } catch (StorageException e) {
        refused++;
      }
    }
    return refused;
  }

  private void put(KvStore store, int number, int salt) {
    store.put(key(number), value(salt));
    model.put(name(number), salt);
  }

  private void check(KvStore store) {
    Map<String, Integer> expected = new TreeMap<>(model);
    try (KvCursor cursor = store.cursor()) {
      for (Map.Entry<String, Integer> entry : expected.entrySet()) {
        assertTrue(cursor.next(), () -> entry.getKey() + " and all behind it are missing");
        assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
        assertArrayEquals(value(entry.getValue()), cursor.value(), entry.getKey());
      }
      assertTrue(!cursor.next());
    }
  }

  private static String name(int number) {
    return "key-%010d".formatted(number);
  }

  private static byte[] key(int number) {
    return name(number).getBytes(UTF_8);
  }

  private static byte[] value(int salt) {
    byte[] value = new byte[salt % 4 == 0 ? 60 : 5_000];
    new Random(salt).nextBytes(value);
    return value;
  }
}
