package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@link KvOptions#verifyValues} leaves out, and what it does not. */
final class UnverifiedValuesTest {
  private static final int ENTRIES = 30;
  private static final int DAMAGED = 17;

  /** Every way in which a user reads the value of a key. */
  private static final Map<String, Function<KvStore, byte[]>> READS = reads();

  @TempDir Path directory;

  private static Map<String, Function<KvStore, byte[]>> reads() {
    byte[] key = key(DAMAGED);
    Map<String, Function<KvStore, byte[]>> reads = new LinkedHashMap<>();
    reads.put("get", store -> store.get(key));
    reads.put("read", store -> store.read(key, UnverifiedValuesTest::bytes));
    reads.put("readWithInfo", store -> store.readWithInfo(key, (info, view) -> bytes(view)));
    reads.put("get into bytes", UnverifiedValuesTest::intoBytes);
    reads.put("getAll", store -> store.getAll(List.of(key(1), key)).get(1));
    reads.put("value", store -> atKey(store, KvCursor::value));
    reads.put("valueView", store -> atKey(store, cursor -> bytes(cursor.valueView())));
    reads.put("snapshot", UnverifiedValuesTest::ofSnapshot);
    reads.put("transaction", store -> store.transact(transaction -> transaction.get(key)));
    return reads;
  }

  @ParameterizedTest
  @ValueSource(ints = {300, 5_000, 200_000})
  void aDamagedValueIsHandedOutAsItIs(int length) throws IOException {
    fill(length, ValueCompression.NONE);
    byte[] damaged = flip(value(DAMAGED, length), length / 2);
    try (KvStore store = open(false)) {
      READS.forEach(
          (name, read) -> {
            assertArrayEquals(damaged, read.apply(store), name);
            assertArrayEquals(damaged, read.apply(store), name + " again");
          });
      assertArrayEquals(value(1, length), store.get(key(1)));
      assertTrue(store.compareAndSet(key(DAMAGED), damaged, value(DAMAGED, length)));
      assertArrayEquals(value(DAMAGED, length), store.get(key(DAMAGED)));
    }
  }

  @Test
  void unlessItIsToBeVerified() throws IOException {
    fill(5_000, ValueCompression.NONE);
    flip(value(DAMAGED, 5_000), 2_000);
    try (KvStore store = open(true)) {
      READS.forEach(
          (name, read) ->
              assertThrows(CorruptionException.class, () -> read.apply(store), () -> name));
    }
  }

  /** They would be sound from then on, with sums of their own. */
  @Test
  void copiesOfWhatIsStoredAreVerifiedAllTheSame() throws IOException {
    fill(5_000, ValueCompression.NONE);
    flip(value(DAMAGED, 5_000), 2_000);
    try (KvStore store = open(false)) {
      assertThrows(CorruptionException.class, () -> store.backup(new ByteArrayOutputStream(), 0));
      assertFalse(store.verify().problems().isEmpty());
      try (ChangeFeed changes = store.changes(0)) {
        assertThrows(
            CorruptionException.class,
            () -> {
              while (changes.poll() != null) {
                // On to the damaged one.
              }
            });
      }
    }
  }

  @Test
  void theValueIsThatOfItsKeyAllTheSame() throws IOException {
    fill(5_000, ValueCompression.NONE);
    // In front of the value there is nothing of the record but its lengths and its key.
    byte[] keyAndValue = concat(key(DAMAGED), value(DAMAGED, 5_000));
    flip(keyAndValue, key(DAMAGED).length - 1);
    try (KvStore store = open(false)) {
      READS.forEach(
          (name, read) ->
              assertThrows(CorruptionException.class, () -> read.apply(store), () -> name));
    }
  }

  @Test
  void compressedValuesAreVerifiedAllTheSame() throws IOException {
    fill(5_000, ValueCompression.LZ4);
    byte[] tail = Arrays.copyOfRange(compressible(DAMAGED, 5_000), 0, 500);
    flip(tail, 100);
    try (KvStore store = open(false)) {
      READS.forEach(
          (name, read) ->
              assertThrows(CorruptionException.class, () -> read.apply(store), () -> name));
      assertArrayEquals(compressible(1, 5_000), store.get(key(1)));
    }
  }

  private void fill(int length, ValueCompression compression) {
    KvOptions options = KvOptions.builder().valueCompression(compression).build();
    try (KvStore store = KvStore.open(directory, options)) {
      for (int i = 0; i < ENTRIES; i++) {
        boolean isPlain = compression == ValueCompression.NONE;
        store.put(key(i), isPlain ? value(i, length) : compressible(i, length));
      }
    }
  }

  private KvStore open(boolean verifyValues) {
    return KvStore.open(directory, KvOptions.builder().verifyValues(verifyValues).build());
  }

  /** Flips one bit in these bytes, which are in the log once; what they are then. */
  private byte[] flip(byte[] part, int index) throws IOException {
    byte[] flipped = part.clone();
    flipped[index] ^= 4;
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.filter(path -> path.toString().endsWith(".vlog")).toList()) {
        byte[] bytes = Files.readAllBytes(file);
        int at = new String(bytes, ISO_8859_1).indexOf(new String(part, ISO_8859_1));
        if (at >= 0) {
          bytes[at + index] ^= 4;
          Files.write(file, bytes);
          return flipped;
        }
      }
    }
    throw new AssertionError("the log has no such bytes");
  }

  private static byte[] intoBytes(KvStore store) {
    Bytes<?> target = Bytes.allocateElasticOnHeap();
    store.get(BytesStore.wrap(key(DAMAGED)), target);
    return target.toByteArray();
  }

  private static byte[] ofSnapshot(KvStore store) {
    try (Snapshot snapshot = store.snapshot()) {
      return Objects.requireNonNull(snapshot.get(key(DAMAGED)));
    }
  }

  private static byte[] atKey(KvStore store, Function<KvCursor, byte[]> read) {
    try (KvCursor cursor = store.cursor(ScanOptions.prefix(key(DAMAGED)))) {
      assertTrue(cursor.next());
      return read.apply(cursor);
    }
  }

  private static byte[] bytes(ByteBuffer view) {
    byte[] copy = new byte[view.remaining()];
    view.get(copy);
    return copy;
  }

  private static byte[] concat(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private static byte[] key(int number) {
    return "key-%03d".formatted(number).getBytes(UTF_8);
  }

  private static byte[] value(int number, int length) {
    byte[] value = new byte[length];
    new Random(number).nextBytes(value);
    return value;
  }

  /** The first half as nothing shortens it, then zeros. */
  private static byte[] compressible(int number, int length) {
    return Arrays.copyOf(value(number, length / 2), length);
  }
}
