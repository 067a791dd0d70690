package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.testing.JavaProcess;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A page of a mapped file that the device does not give, here because the file was cut short under
 * the store. In a process of its own: the JVM says so with an error that it may deliver late.
 */
final class PageFaultsTest {
  @TempDir Path directory;

  /** What a run reads how often before pages are gone; often enough, and lookups are compiled. */
  private record Case(String suffix, int valueBytes, int readsBefore, boolean verifyValues) {}

  @Test
  void aReadFailsAsOfTheDeviceAndTheStoreGoesOn() {
    Sample.of(
            List.of(
                new Case(".sst", 50, 0, true),
                new Case(".sst", 50, 300_000, true),
                new Case(".vlog", 5_000, 0, true),
                new Case(".vlog", 5_000, 300_000, true),
                new Case(".vlog", 5_000, 0, false),
                new Case(".vlog", 5_000, 300_000, false),
                new Case(".vlog", 20_000, 300_000, false)))
        .meeting(Case::suffix)
        .meeting(one -> one.readsBefore() > 0)
        .run(
            PageFaultsTest.class,
            "aReadFailsAsOfTheDeviceAndTheStoreGoesOn",
            /* count= */ 2,
            (cases, seed) -> cases.forEach(this::check));
  }

  private void check(Case one) {
    try {
      String wrong =
          JavaProcess.answer(
              Program.class,
              directory.resolve(one.toString()).toString(),
              one.suffix(),
              Integer.toString(one.valueBytes()),
              Integer.toString(one.readsBefore()),
              Boolean.toString(one.verifyValues()));
      assertEquals("[]", wrong, one::toString);
    } catch (Exception e) {
      throw new AssertionError(one.toString(), e);
    }
  }

  /** Prints what was not as it should be. */
  static final class Program {
    private static final int KEYS = 2_000;

    private final List<String> wrong = new ArrayList<>();

    private interface Call {
      @Nullable Object run();
    }

    private static byte[] key(int number) {
      return new byte[] {7, (byte) (number >>> 8), (byte) number};
    }

    public static void main(String[] arguments) throws IOException {
      System.out.println(
          new Program()
              .run(
                  Path.of(arguments[0]),
                  arguments[1],
                  Integer.parseInt(arguments[2]),
                  Integer.parseInt(arguments[3]),
                  Boolean.parseBoolean(arguments[4])));
    }

    private List<String> run(
        Path directory, String suffix, int valueBytes, int readsBefore, boolean verifyValues)
        throws IOException {
      KvOptions options =
          KvOptions.builder()
              .memoryBudgetBytes(16 << 20)
              .valueCompression(ValueCompression.NONE)
              .verifyValues(verifyValues)
              .build();
      try (KvStore store = KvStore.open(directory, options)) {
        for (int i = 0; i < KEYS; i++) {
          store.put(key(i), new byte[valueBytes]);
        }
        store.compact();
      }
      KvStore store = KvStore.open(directory, options);
      store.get(key(0));
      compile(store, readsBefore);
      cut(directory, suffix);
      if (suffix.equals(".sst")) {
        for (int i = KEYS / 2; i < KEYS; i++) {
          int sought = i;
          fails("contains", () -> contains(store, sought, 1));
        }
      }
      int next = KEYS / 2;
      byte[] value = new byte[valueBytes];
      fails("compareAndSet", () -> store.compareAndSet(key(next), value, new byte[1]));
      if (suffix.equals(".sst")) {
        fails("of absent", () -> store.compareAndSet(key(next + 1), null, new byte[1]));
      } else if (store.compareAndSet(key(next + 1), null, new byte[1])) {
        // As contains() does, it does not read the value.
        wrong.add("a key whose value cannot be read was taken for absent");
      }
      fails("compareAndDelete", () -> store.compareAndDelete(key(next + 2), value));
      reads(store, next + 3);
      verify(store);
      store.put(key(KEYS), new byte[3]);
      if (!store.compareAndSet(key(KEYS), new byte[3], new byte[4])) {
        wrong.add("the store does not go on");
      }
      store.close();
      return wrong;
    }

    /** Until a lookup is compiled, with much of what it calls. */
    private static void compile(KvStore store, int reads) {
      if (contains(store, 0, reads) < reads) {
        throw new AssertionError("a key is absent");
      }
      for (int i = 0; i < reads; i++) {
        store.get(key(i % KEYS));
      }
    }

    private static int contains(KvStore store, int from, int count) {
      int found = 0;
      for (int i = 0; i < count; i++) {
        if (store.contains(key((from + i) % KEYS))) {
          found++;
        }
      }
      return found;
    }

    private void reads(KvStore store, int from) {
      fails("get", () -> store.get(key(from)));
      fails("get into bytes", () -> store.get(Bytes.wrapForRead(key(from + 1)), buffer()));
      fails("read", () -> store.read(key(from + 2), ByteBuffer::remaining));
      fails("getAll", () -> store.getAll(List.of(key(1), key(from + 3))));
      fails("cursor", () -> walk(store, from + 4));
      fails("view", () -> view(store, from + 5));
    }

    /** It may read the file instead of the mapping, and then reports what is missing. */
    private void verify(KvStore store) {
      try {
        if (store.verify().problems().isEmpty()) {
          wrong.add("verify found nothing");
        }
      } catch (StorageException e) {
        if (!(e.getCause() instanceof InternalError)) {
          wrong.add("verify has cause " + e.getCause());
        }
      }
    }

    private static Bytes<?> buffer() {
      return Bytes.allocateElasticOnHeap(16);
    }

    private static Object walk(KvStore store, int from) {
      try (KvCursor cursor = store.cursor(ScanOptions.all().prefetch(0))) {
        cursor.seek(key(from));
        return cursor.value();
      }
    }

    private static Object view(KvStore store, int from) {
      try (KvCursor cursor = store.cursor(ScanOptions.all().reverse())) {
        cursor.seekFloor(key(from));
        return cursor.valueView();
      }
    }

    private void fails(String what, Call call) {
      try {
        wrong.add(what + " gave " + call.run());
      } catch (StorageException e) {
        if (!(e.getCause() instanceof InternalError)) {
          wrong.add(what + " has cause " + e.getCause());
        }
      } catch (CorruptionException e) {
        // Values that are not in memory are read through the file first, which ends too soon.
        if (!e.file().endsWith(".vlog")) {
          wrong.add(what + " threw " + e);
        }
      } catch (RuntimeException | Error e) {
        wrong.add(what + " threw " + e);
      }
    }

    private static void cut(Path directory, String suffix) throws IOException {
      try (Stream<Path> files = Files.list(directory)) {
        for (Path file : files.filter(path -> path.toString().endsWith(suffix)).toList()) {
          try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(open.length() / 8);
          }
        }
      }
    }
  }
}
