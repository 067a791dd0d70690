package io.kvsep.internal.load;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.testing.Seeds;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The order in which a buffer gives back what was put into it. */
final class LoadBufferTest {
  private static byte[] key(Random random, int spread, int lengthMax, byte[] beginning) {
    byte[] key = Arrays.copyOf(beginning, beginning.length + 1 + random.nextInt(lengthMax));
    for (int i = beginning.length; i < key.length; i++) {
      key[i] = (byte) random.nextInt(spread);
    }
    return key;
  }

  private static boolean add(LoadBuffer buffer, byte[] key, byte[] payload, int kind) {
    if (!buffer.hasRoom(key.length, payload.length)) {
      return false;
    }
    buffer.region().put(buffer.newKeyOffset(), key, 0, key.length);
    buffer.region().put(buffer.newKeyOffset() + key.length, payload, 0, payload.length);
    buffer.add(kind, key.length, payload.length);
    return true;
  }

  private static void requireSame(TreeMap<byte[], byte[]> expected, LoadBuffer buffer) {
    buffer.sort();
    for (int pass = 0; pass < 2; pass++) {
      for (Map.Entry<byte[], byte[]> entry : expected.entrySet()) {
        assertTrue(buffer.next());
        assertArrayEquals(
            entry.getKey(), buffer.region().getBytes(buffer.keyOffset(), buffer.keyLength()));
        byte[] payload = buffer.region().getBytes(buffer.payloadOffset(), buffer.payloadLength());
        assertArrayEquals(entry.getValue(), payload);
        assertEquals(payload.length % 7, buffer.kind());
      }
      assertFalse(buffer.next());
      buffer.rewind();
    }
  }

  @Test
  void itGivesTheLastOfEachKeyInTheirOrder() {
    boolean[] seen = new boolean[2];
    Seeds.each(
        LoadBufferTest.class,
        300,
        random -> {
          MemoryLedger ledger = new MemoryLedger();
          try (LoadBuffer buffer = new LoadBuffer(ledger, 100 + random.nextInt(20_000))) {
            byte[] beginning = new byte[random.nextInt(20)];
            random.nextBytes(beginning);
            int spread = random.nextBoolean() ? 256 : 1 + random.nextInt(4);
            for (int round = 0; round < 3; round++) {
              TreeMap<byte[], byte[]> expected = new TreeMap<>(Arrays::compareUnsigned);
              int most = random.nextInt(300);
              boolean ascending = random.nextInt(4) == 0;
              boolean room = true;
              for (int i = 0; i < most && room; i++) {
                byte[] key = key(random, spread, 12, beginning);
                byte[] payload = new byte[random.nextInt(50)];
                random.nextBytes(payload);
                if (!ascending
                    || expected.isEmpty()
                    || Arrays.compareUnsigned(key, expected.lastKey()) > 0) {
                  room = add(buffer, key, payload, payload.length % 7);
                  if (room) {
                    expected.put(key, payload);
                  }
                }
              }
              seen[room ? 0 : 1] = true;
              assertEquals(expected.isEmpty(), buffer.isEmpty());
              requireSame(expected, buffer);
              buffer.clear();
            }
          }
          assertEquals(0, ledger.totalBytes());
        });
    assertTrue(seen[0] && seen[1], "never full, or always");
  }

  @Test
  void itGrowsForAnEntryThatIsLonger() {
    MemoryLedger ledger = new MemoryLedger();
    try (LoadBuffer buffer = new LoadBuffer(ledger, 256)) {
      byte[] key = new byte[70_000];
      byte[] payload = new byte[700];
      assertFalse(buffer.hasRoom(key.length, payload.length));
      buffer.grow(key.length, payload.length);
      assertTrue(add(buffer, key, payload, 0));
      assertFalse(buffer.hasRoom(1, 1));
      TreeMap<byte[], byte[]> expected = new TreeMap<>(Arrays::compareUnsigned);
      expected.put(key, payload);
      requireSame(expected, buffer);
    }
    assertEquals(0, ledger.totalBytes());
  }
}
