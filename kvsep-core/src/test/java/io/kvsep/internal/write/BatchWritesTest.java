package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.vlog.RecordSource;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a batch holds; its limit is tried with a small one, since the real one is a gibibyte. */
final class BatchWritesTest {
  private static final byte[] KEY = {1, 2, 3};

  @Test
  void writeBeyondTheLimitIsRefusedAndLeavesTheBatchAsItWas() {
    BatchWrites buffer = new BatchWrites(1000);
    buffer.put(0, KEY, new byte[400], 0);
    buffer.put(0, KEY, new byte[400], 0);
    assertThrows(LimitExceededException.class, () -> buffer.put(0, KEY, new byte[400], 0));
    assertEquals(2, buffer.count());
    assertEquals(2 * 403, buffer.payloadBytes());
    buffer.put(0, KEY, new byte[100], 0);
    assertEquals(3, records(buffer));
  }

  @Test
  void manySmallWritesCountWithWhatEachTakesInTheLog() {
    BatchWrites buffer = new BatchWrites(1000);
    assertThrows(
        LimitExceededException.class,
        () -> {
          while (buffer.count() < 1000) {
            buffer.delete(0, KEY);
          }
        });
    assertTrue(buffer.count() > 10 && buffer.count() < 1000 / KEY.length);
  }

  /** It would stand in the log, and not be counted there. */
  @Test
  void aWriteForWhichThereIsNoMemoryLeavesTheBatchAsItWas() throws Exception {
    BatchWrites buffer = new BatchWrites(1000);
    Field keyspaces = BatchWrites.class.getDeclaredField("keyspaces");
    keyspaces.setAccessible(true);
    boolean[] scarce = {true};
    Set<Integer> sparing =
        new HashSet<>() {
          @Override
          public boolean add(Integer keyspace) {
            if (scarce[0]) {
              scarce[0] = false;
              throw new OutOfMemoryError("as a test wants it");
            }
            return super.add(keyspace);
          }
        };
    keyspaces.set(buffer, sparing);
    buffer.put(0, KEY, new byte[4], 0);
    assertThrows(OutOfMemoryError.class, () -> buffer.put(1, KEY, new byte[4], 0));
    assertEquals(buffer.count(), records(buffer));
    buffer.put(1, KEY, new byte[4], 0);
    assertEquals(2, records(buffer));
    assertEquals(Set.of(1), buffer.keyspaces());
  }

  @Test
  void singleWriteMayBeAsLongAsAValueMay() {
    BatchWrites buffer = new BatchWrites(1000);
    buffer.put(0, KEY, new byte[5000], 0);
    assertEquals(1, buffer.count());
  }

  @Test
  void ofARangeTheTwoUserKeysCount() {
    for (int keyspace : new int[] {0, 7, 1000}) {
      BatchWrites buffer = new BatchWrites();
      buffer.deleteRange(keyspace, new byte[] {1}, new byte[] {2});
      assertEquals(2, buffer.payloadBytes());
      assertEquals(2, buffer.records(0).payloadBytes());
      buffer.deleteRange(keyspace, new byte[0], KEY);
      assertEquals(2 + KEY.length, buffer.payloadBytes());
    }
  }

  @Test
  void recordsComeBackInOrderAndWhole() {
    BatchWrites buffer = new BatchWrites();
    for (int i = 0; i < 3000; i++) {
      buffer.put(i % 300, new byte[] {(byte) i, 7}, value(i), i % 2 == 0 ? 0 : i);
    }
    RecordSource records = buffer.records(1_000_000);
    for (int round = 0; round < 2; round++) {
      records.rewind();
      for (int i = 0; i < 3000; i++) {
        assertTrue(records.next());
        assertEquals(i % 300, records.keyspace);
        assertEquals(i % 2 == 0 ? Tag.PUT : Tag.PUT | Tag.EXPIRES, records.kind);
        assertEquals(i % 2 == 0, records.expiresAtMillis == 1_000_000);
        assertValue(i, records);
      }
      assertFalse(records.next());
    }
    buffer.clear();
    assertEquals(0, records(buffer));
  }

  @Test
  void clearedBatchTakesShorterAndLongerWritesThanBefore() {
    BatchWrites buffer = new BatchWrites();
    int[][] batches = {
      {10, 300_000, 20}, {5}, {400_000, 400_000}, {7, 300_000, 500_000, 9}, {}, {8}
    };
    for (int[] lengths : batches) {
      for (int length : lengths) {
        buffer.put(0, KEY, value(length), 0);
      }
      RecordSource records = buffer.records(0);
      records.rewind();
      for (int length : lengths) {
        assertTrue(records.next());
        assertValue(length, records);
      }
      assertFalse(records.next());
      buffer.clear();
    }
  }

  private static byte[] value(int length) {
    byte[] value = new byte[length];
    Arrays.fill(value, (byte) length);
    return value;
  }

  private static void assertValue(int length, RecordSource current) {
    byte[] all = current.value;
    assertTrue(all != null);
    int from = current.valueOffset;
    assertArrayEquals(value(length), Arrays.copyOfRange(all, from, from + current.valueLength));
  }

  private static int records(BatchWrites buffer) {
    RecordSource records = buffer.records(0);
    records.rewind();
    int count = 0;
    while (records.next()) {
      count++;
    }
    return count;
  }
}
