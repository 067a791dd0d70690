package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.testing.Seeds;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class ExpiryEstimateTest {
  private static final long NEVER = ExpiryEstimate.NEVER;

  @Test
  void tableIsDueWhenAQuarterOfItHasExpired() {
    assertEquals(1_250_000, due(101, 0, 101, 1_000_000, 2_000_000));
    assertEquals(1_500_000, due(400, 0, 199, 1_000_000, 2_000_000));
    assertEquals(2_000_000, due(400, 0, 100, 1_000_000, 2_000_000));
    assertEquals(NEVER, due(401, 0, 100, 1_000_000, 2_000_000));
    assertEquals(NEVER, due(400, 0, 0, 0, 0));
  }

  @Test
  void tombstonesHoldNothingThatCouldExpire() {
    assertEquals(1_250_000, due(1000, 899, 101, 1_000_000, 2_000_000));
    assertEquals(NEVER, due(5, 5, 0, 0, 0));
  }

  @Test
  void whatExpiresTogetherIsDueThen() {
    assertEquals(5_000, due(10, 0, 10, 5_000, 5_000));
    assertEquals(5_000, due(1, 0, 1, 5_000, 5_000));
    // Within seconds is together.
    assertEquals(15_000, due(10, 0, 10, 5_000, 15_000));
    assertEquals(15_000, due(100, 0, 100, 5_000, 20_000));
  }

  @Test
  void theFarthestExpiriesDoNotOverflow() {
    long last = Long.MAX_VALUE - 1;
    assertEquals(last, due(4, 0, 1, last, last));
    assertEquals(last, due(400, 0, 100, 1, last));
    assertTrue(due(400, 0, 400, 1, last) > last / 5);
    assertTrue(due(400, 0, 400, last - 10_001, last) <= last);
  }

  /** Each rewrite at the moment that was named drops something, and there is soon none any more. */
  @Test
  void rewritesDropSomethingAndEnd() {
    Seeds.run(
        getClass(),
        "rewritesDropSomethingAndEnd",
        1,
        200,
        seed -> {
          Random random = new Random(seed);
          long lifetime = 1 + random.nextLong(365L * 86_400_000);
          int entries = 1 + random.nextInt(2000);
          int expiring = random.nextInt(entries + 1);
          long[] expiries = new long[expiring];
          // All at the end but a few: as far from the estimate as can be.
          double skew = random.nextInt(20);
          for (int i = 0; i < expiring; i++) {
            expiries[i] = (long) (lifetime * Math.pow(random.nextDouble(), 1 / (1 + skew)));
          }
          Arrays.sort(expiries);
          int dropped = 0;
          int rewrites = 0;
          while (true) {
            int left = expiring - dropped;
            long first = left == 0 ? 0 : expiries[dropped];
            long last = left == 0 ? 0 : expiries[expiring - 1];
            long due = due(entries - dropped, 0, left, first, last);
            if (due == NEVER) {
              break;
            }
            assertTrue(due >= first && due <= last);
            while (dropped < expiring && expiries[dropped] <= due) {
              dropped++;
            }
            assertTrue(++rewrites <= 60);
          }
          // What is left and expires is less than a quarter of what is left.
          assertTrue(4L * (expiring - dropped) < entries - dropped || expiring == dropped);
        });
  }

  private static long due(long entries, long tombstones, long expiring, long first, long last) {
    return ExpiryEstimate.dueMillis(
        new TableMeta(
            1,
            1,
            new byte[] {1},
            new byte[] {2},
            1,
            1,
            entries,
            tombstones,
            0,
            0,
            1,
            expiring,
            first,
            last,
            List.of()));
  }
}
