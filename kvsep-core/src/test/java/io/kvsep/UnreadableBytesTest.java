package io.kvsep;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.StorageException;
import io.kvsep.testing.JavaProcess;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.PointerBytesStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bytes of users may lie in a mapped file of their own, with a page that cannot be read: then bytes
 * that an earlier caller gave must not be written, or looked up, in their place. In a process of
 * its own.
 */
final class UnreadableBytesTest {
  @TempDir Path directory;

  @Test
  void nothingElseIsWrittenOrLookedUp() throws Exception {
    assertEquals("[]", JavaProcess.answer(Program.class, directory.toString()));
  }

  static final class Program {
    private static final int PAGE_BYTES = 4096;

    /** Enough for the compilers of the JVM, whose code raises the error later. */
    private static final int ROUNDS = 3_000;

    private static final byte[] BEFORE = {1, 2, 3, 4};
    private static final long BUFFER_ADDRESS = addressOffset();

    private final List<String> wrong = new ArrayList<>();

    public static void main(String[] arguments) throws IOException {
      System.out.println(new Program().run(Path.of(arguments[0])));
    }

    private List<String> run(Path directory) throws IOException {
      ByteBuffer lost = lost(directory.resolve("users"));
      try (KvStore store = KvStore.open(directory.resolve("store"))) {
        Bytes<byte[]> key = Bytes.wrapForRead(BEFORE);
        BytesStore<?, ?> lostKey = over(lost, BEFORE.length);
        BytesStore<?, ?> lostValue = over(lost, PAGE_BYTES);
        Bytes<?> target = Bytes.allocateElasticOnHeap();
        for (int round = 0; round < ROUNDS && wrong.isEmpty(); round++) {
          store.put(key, key);
          fails("a put of a value", () -> store.put(key, lostValue));
          fails("a put of a key", () -> store.put(lostKey, key));
          fails("a get", () -> store.get(lostKey, target));
          if (!Arrays.equals(BEFORE, store.get(BEFORE))) {
            wrong.add("another value");
          }
        }
        int[] entries = {0};
        try (KvCursor cursor = store.cursor()) {
          while (cursor.next()) {
            entries[0]++;
          }
        }
        if (entries[0] != 1) {
          wrong.add(entries[0] + " entries");
        }
      }
      return wrong;
    }

    private static BytesStore<?, ?> over(ByteBuffer mapped, long count) {
      PointerBytesStore bytes = new PointerBytesStore();
      bytes.set(UNSAFE.getLong(mapped, BUFFER_ADDRESS), count);
      return bytes;
    }

    private void fails(String what, Runnable call) {
      try {
        call.run();
        wrong.add(what + " succeeded");
      } catch (StorageException e) {
        if (!(e.getCause() instanceof InternalError)) {
          wrong.add(what + " has cause " + e.getCause());
        }
      } catch (InternalError e) {
        // As Java says it.
        return;
      }
    }

    private static long addressOffset() {
      try {
        return UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField("address"));
      } catch (NoSuchFieldException e) {
        throw new AssertionError(e);
      }
    }

    /** The second page of a file that has one. */
    private static ByteBuffer lost(Path file) throws IOException {
      try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
        open.setLength(2 * PAGE_BYTES);
        ByteBuffer mapped =
            open.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 2 * PAGE_BYTES);
        open.setLength(PAGE_BYTES);
        return mapped.slice(PAGE_BYTES, PAGE_BYTES);
      }
    }
  }
}
