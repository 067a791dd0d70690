package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class KeyHashTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Region region = ledger.allocate(MemoryPurpose.READ, 70_000);

  @AfterEach
  void nothingIsLeft() {
    region.free();
    assertEquals(0, ledger.totalBytes());
  }

  /** Filters on disk hold these: another value makes keys unfindable. */
  @Test
  void persistedValuesNeverChange() {
    assertEquals(0x67dcc186869dc4e3L, hash(""));
    assertEquals(0x2a571627504242caL, hash("\0"));
    assertEquals(0x702680bad3f82f7bL, hash("a"));
    assertEquals(0x0709e4c6b2d6e753L, hash("key"));
    assertEquals(0x480102afad86abdbL, hash("1234567"));
    assertEquals(0x9f67e86fea0bb79eL, hash("12345678"));
    assertEquals(0x481bdacfc18361f8L, hash("123456789"));
    byte[] ones = new byte[8];
    Arrays.fill(ones, (byte) 0xff);
    assertEquals(0x0e2946888da125aaL, hash(ones));
    byte[] all = new byte[256];
    for (int i = 0; i < all.length; i++) {
      all[i] = (byte) i;
    }
    assertEquals(0x277c2366514273a6L, hash(all));
    assertEquals(0xbb1ad9eee489805bL, hash("0123456789abcdef".repeat(4096)));
  }

  @Test
  void onlyTheKeyCountsNotItsPlace() {
    byte[] key = "somewhere in memory".getBytes(StandardCharsets.UTF_8);
    long expected = hash(key);
    for (int offset = 0; offset < 20; offset++) {
      region.fill(0, 64, (byte) offset);
      region.put(offset, key, 0, key.length);
      assertEquals(expected, KeyHash.of(region, offset, key.length));
    }
  }

  @Test
  void trailingZerosMakeAnotherKey() {
    Set<Long> hashes = new HashSet<>();
    for (int length = 0; length <= 64; length++) {
      hashes.add(hash(new byte[length]));
    }
    assertEquals(65, hashes.size());
  }

  @Test
  void countingKeysDoNotCollide() {
    Set<Long> hashes = new HashSet<>();
    for (int i = 0; i < 200_000; i++) {
      hashes.add(hash("user" + i));
    }
    assertEquals(200_000, hashes.size());
  }

  /** Each bit of a key should change each bit of the hash in half of the cases. */
  @Test
  void everyInputBitReachesEveryOutputBit() {
    Random random = new Random(5);
    for (int length : new int[] {1, 4, 7, 8, 9, 16, 22, 40}) {
      int samples = length == 1 ? 256 : 400;
      for (int bit = 0; bit < 8 * length; bit++) {
        int[] changes = new int[64];
        for (int n = 0; n < samples; n++) {
          byte[] key = new byte[length];
          random.nextBytes(key);
          long before = hash(key);
          key[bit / 8] ^= (byte) (1 << (bit % 8));
          long changed = before ^ hash(key);
          for (int i = 0; i < 64; i++) {
            changes[i] += (int) (changed >>> i & 1);
          }
        }
        for (int i = 0; i < 64; i++) {
          double rate = changes[i] / (double) samples;
          assertTrue(rate > 0.25 && rate < 0.75, length + " bytes, " + bit + " to " + i);
        }
      }
    }
  }

  private long hash(String key) {
    return hash(key.getBytes(StandardCharsets.ISO_8859_1));
  }

  private long hash(byte[] key) {
    region.put(0, key, 0, key.length);
    return KeyHash.of(region, 0, key.length);
  }
}
