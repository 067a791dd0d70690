package io.kvsep.internal.txn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.vlog.RecordSource;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class TransactionWritesTest {
  private static final int SPACE = 3;
  private static final int KEYS = 40;

  /** What the writes say of a key; no entry where they say nothing. */
  private static final class Model {
    final Map<Integer, byte[]> puts = new TreeMap<>();
    final Set<Integer> deletes = new TreeSet<>();

    void put(int key, byte[] value) {
      puts.put(key, value);
      deletes.remove(key);
    }

    void delete(int key) {
      puts.remove(key);
      deletes.add(key);
    }
  }

  @Test
  void showsWhatTheWritesInTheirOrderMake() {
    Seeds.some(TransactionWritesTest.class, 600, 80, TransactionWritesTest::check);
  }

  private static void check(Random random) {
    TransactionWrites writes = new TransactionWrites();
    Model model = new Model();
    List<WritesSnapshot> views = new ArrayList<>();
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      int number = random.nextInt(KEYS);
      int kind = random.nextInt(5);
      if (kind == 0) {
        int to = random.nextInt(KEYS);
        writes.deleteRange(SPACE, key(number), key(to));
        for (int deleted = number; deleted < to; deleted++) {
          model.delete(deleted);
        }
      } else if (kind == 1) {
        writes.delete(SPACE, key(number));
        model.delete(number);
      } else {
        byte[] value = new byte[random.nextInt(9)];
        writes.put(SPACE, key(number), value, 0);
        model.put(number, value);
      }
      views.add(writes.view());
      shown.add(describe(writes.view()));
      check(writes.view(), model, random);
      checkRecords(writes.records(0), model, random.nextInt(3) + 1);
    }
    for (int i = 0; i < views.size(); i++) {
      assertEquals(shown.get(i), describe(views.get(i)), "a view that changed");
    }
  }

  private static void check(WritesSnapshot view, Model model, Random random) {
    for (int i = 0; i < KEYS; i++) {
      TransactionWrite found = view.find(stored(i));
      byte[] expected = model.puts.get(i);
      if (expected != null) {
        assertSameBytes(expected, found);
      } else if (model.deletes.contains(i)) {
        assertTrue(Objects.requireNonNull(found).isDelete());
      } else {
        assertNull(found);
      }
    }
    int at = random.nextInt(KEYS);
    boolean inclusive = random.nextBoolean();
    int end = random.nextInt(KEYS);
    assertEquals(
        model.puts.keySet().stream()
            .filter(k -> (inclusive ? k >= at : k > at) && k < end)
            .findFirst(),
        number(view.putAfter(stored(at), inclusive, stored(end), () -> 0)));
    assertEquals(
        model.puts.keySet().stream()
            .filter(k -> (inclusive ? k <= at : k < at) && k >= end)
            .max(Integer::compare),
        number(view.putBefore(stored(at), inclusive, stored(end), () -> 0)));
  }

  private static Optional<Integer> number(WritesSnapshot.@Nullable OwnPut put) {
    return put == null ? Optional.empty() : Optional.of(put.key()[1] & 0xff);
  }

  /** Applying the records must lead to the same, whatever the store held before. */
  private static void checkRecords(RecordSource records, Model model, int times) {
    for (int time = 0; time < times; time++) {
      records.rewind();
      Model applied = new Model();
      int count = 0;
      long bytes = 0;
      while (records.next()) {
        count++;
        bytes += records.keyLength + (records.value == null ? 0 : records.valueLength);
        assertEquals(SPACE, records.keyspace);
        int from = records.key[records.keyOffset] & 0xff;
        if (records.kind == Tag.RANGE_DELETE) {
          byte[] end = Objects.requireNonNull(records.value);
          bytes -= Keyspaces.prefixLength(SPACE);
          for (int i = from; i < (end[1] & 0xff); i++) {
            applied.delete(i);
          }
        } else if (records.kind == Tag.DELETE) {
          applied.delete(from);
        } else {
          applied.put(from, Objects.requireNonNull(records.value));
        }
      }
      assertEquals(records.recordCount(), count);
      assertEquals(records.payloadBytes(), bytes);
      assertEquals(model.puts.keySet(), applied.puts.keySet());
      assertEquals(model.deletes, applied.deletes);
    }
  }

  @Test
  void theLimitIsThatOfABatchAndRefusesOneWriteOnly() {
    TransactionWrites writes = new TransactionWrites(100);
    writes.put(0, key(1), new byte[500], 0);
    assertThrows(LimitExceededException.class, () -> writes.put(0, key(2), new byte[0], 0));
    assertThrows(LimitExceededException.class, () -> writes.deleteRange(0, key(2), key(9)));
    assertNull(writes.view().find(Keyspaces.storedKey(0, key(2))));
    // In its place another one has room.
    writes.put(0, key(1), new byte[10], 0);
    writes.put(0, key(2), new byte[10], 0);
    WritesSnapshot before = writes.view();
    assertThrows(LimitExceededException.class, () -> writes.put(0, key(3), new byte[60], 0));
    assertSame(before, writes.view());
    writes.deleteRange(0, key(0), key(9));
    assertEquals(1, writes.records(0).recordCount());
    writes.put(0, key(3), new byte[60], 0);
  }

  @Test
  void rangesThatMeetBecomeOne() {
    TransactionWrites writes = new TransactionWrites();
    writes.deleteRange(0, key(1), key(3));
    writes.deleteRange(0, key(5), key(7));
    writes.deleteRange(0, key(3), key(5));
    assertEquals(1, writes.records(0).recordCount());
    WritesSnapshot.Range range = assertNotNullAndGet(writes.view().rangeAround(stored(0, 4)));
    assertArrayEquals(stored(0, 1), range.from());
    assertArrayEquals(stored(0, 7), range.to());
    writes.deleteRange(0, key(9), key(9));
    writes.deleteRange(0, key(9), key(8));
    assertEquals(1, writes.records(0).recordCount());
    assertTrue(writes.keyspaces().isEmpty());
  }

  @Test
  void timesToLiveCountFromTheCommit() {
    TransactionWrites writes = new TransactionWrites();
    writes.put(SPACE, key(1), new byte[1], 10);
    RecordSource records = writes.records(1_000);
    assertTrue(records.next());
    assertEquals(1_010, records.expiresAtMillis);
    assertEquals(Tag.PUT | Tag.EXPIRES, records.kind);
    writes.put(SPACE, key(1), new byte[1], Long.MAX_VALUE);
    records = writes.records(1_000);
    assertTrue(records.next());
    assertEquals(Long.MAX_VALUE - 1, records.expiresAtMillis);
    assertEquals(Set.of(SPACE), writes.keyspaces());
  }

  @Test
  void manyWritesTakeFewSteps() {
    TransactionWrites writes = new TransactionWrites();
    for (int i = 0; i < 100_000; i++) {
      writes.put(0, new byte[] {(byte) (i >> 16), (byte) (i >> 8), (byte) i}, new byte[1], 0);
    }
    writes.deleteRange(0, new byte[] {0, 1}, new byte[] {1, 1});
    assertEquals(100_000 - 65_536 + 1, writes.records(0).recordCount());
  }

  private static String describe(WritesSnapshot view) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < KEYS; i++) {
      TransactionWrite write = view.find(stored(i));
      text.append(write == null ? "-" : write.isDelete() ? "x" : "" + write.value().length);
    }
    return text.toString();
  }

  private static void assertSameBytes(byte[] expected, @Nullable TransactionWrite found) {
    assertSame(expected, Objects.requireNonNull(found).value());
  }

  private static <T> T assertNotNullAndGet(@Nullable T value) {
    assertNotNull(value);
    return Objects.requireNonNull(value);
  }

  private static byte[] key(int number) {
    return new byte[] {(byte) number};
  }

  private static byte[] stored(int number) {
    return stored(SPACE, number);
  }

  private static byte[] stored(int space, int number) {
    return Keyspaces.storedKey(space, key(number));
  }
}
