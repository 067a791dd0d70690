package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Values that do not get shorter are not all tried, and those that do are found out soon all the
 * same, whichever way they are written.
 */
final class CompressionOfWritesTest {
  private static final int NOISE = 300;
  private static final int ZEROS = 100;

  /** Of values that get shorter, behind many that did not. */
  private static final int MISSED_MAX = 15;

  @TempDir Path directory;
  private final Random random = new Random(5);
  private final List<byte[]> written = new ArrayList<>();
  private KvStore store;

  @BeforeEach
  void open() {
    // So that batches of a few mebibytes are encoded while they are written.
    store = KvStore.open(directory, KvOptions.builder().memoryBudgetBytes(16 << 20).build());
  }

  @AfterEach
  void close() {
    store.close();
  }

  private byte[] value(int index, int length) {
    byte[] value = new byte[length];
    if (index < NOISE) {
      random.nextBytes(value);
    }
    return value;
  }

  private static byte[] key(int index) {
    return ("key" + index).getBytes(UTF_8);
  }

  private void check(long logBytes, int length) {
    long noise = (long) NOISE * length;
    long most = noise + (long) MISSED_MAX * length + (long) (NOISE + ZEROS) * (length / 100 + 64);
    assertTrue(logBytes >= noise, () -> logBytes + " bytes");
    assertTrue(logBytes <= most, () -> logBytes + " bytes, at most " + most);
    for (int i = 0; i < written.size(); i++) {
      assertArrayEquals(written.get(i), store.get(key(i)));
    }
  }

  private void writeOneByOne(int length) {
    long before = store.stats().logBytesWritten();
    for (int i = 0; i < NOISE + ZEROS; i++) {
      written.add(value(i, length));
      store.put(key(i), written.get(i));
    }
    check(store.stats().logBytesWritten() - before, length);
  }

  private void writeTogether(int length) {
    long before = store.stats().logBytesWritten();
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < NOISE + ZEROS; i++) {
      written.add(value(i, length));
      batch.put(key(i), written.get(i));
    }
    store.write(batch);
    check(store.stats().logBytesWritten() - before, length);
  }

  @Test
  void putsOneByOne() {
    writeOneByOne(2000);
  }

  @Test
  void aBatch() {
    writeTogether(2000);
  }

  @Test
  void aBatchThatIsEncodedWhileItIsWritten() {
    writeTogether(80_000);
  }
}
