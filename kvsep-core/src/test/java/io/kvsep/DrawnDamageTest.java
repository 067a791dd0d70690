package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Damage;
import io.kvsep.testing.DrawnDamage;
import io.kvsep.testing.Sample;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Damage of every kind to stores with a random past, closed, killed, copied and restored: damage as
 * it happens, and files with other contents under right checksums, which no accident makes. A short
 * run draws some stores, see {@link Sample}.
 */
final class DrawnDamageTest {
  private static final int STORES = Sample.LONG ? 1_200 : 300;

  /** Of a short run. */
  private static final int DRAWN = 5;

  private static final int DAMAGES = 12;

  /**
   * What found a fault once: a damaged filter of an open table, asked for keys outside of it, a
   * manifest that has lost the edits of a whole session, and values that a repair put behind older
   * ones.
   */
  private static final long[] DAMAGED_BEFORE = {88, 1624, 2293, 3392, 100_782, 107_452};

  /**
   * Likewise: a cursor that leapt for ever, empty keys, an offset below zero, numbers above all
   * others.
   */
  private static final long[] FORGED_BEFORE = {280, 1347, 3542, 4002, 102_205, 102_634, 206_509};

  private int trials;
  private int refused;
  private int unreadable;

  @Test
  void damageNeverGivesAWrongAnswer() {
    Seeds.some(getClass(), "damageNeverGivesAWrongAnswer", STORES, DRAWN, seed -> run(seed, false));
    report();
  }

  @Test
  void forgedFilesAreRefusedOrBorne() {
    Seeds.some(getClass(), "forgedFilesAreRefusedOrBorne", STORES, DRAWN, seed -> run(seed, true));
    report();
  }

  @Test
  void whatFoundFaultsBeforeFindsThemNoMore() {
    for (long seed : DAMAGED_BEFORE) {
      run(seed, /* forges= */ false);
    }
    for (long seed : FORGED_BEFORE) {
      run(seed, /* forges= */ true);
    }
    report();
  }

  private void report() {
    assertTrue(trials > DAMAGES, trials + " damages");
    assertTrue(refused > 0 && unreadable > 0, refused + " refused, " + unreadable + " unreadable");
    if (Sample.EXHAUSTIVE) {
      System.out.printf(
          "%d damages, %d openings refused, %d with something unreadable%n",
          trials, refused, unreadable);
    }
  }

  private void run(long seed, boolean forges) {
    DrawnStore sound = make(seed);
    Random random = new Random(seed * 31 + (forges ? 1 : 0));
    DrawnDamage drawn =
        new DrawnDamage(sound.files, sound.older, make(seed + 1_000_000).files, random);
    for (int i = 0; i < DAMAGES; i++) {
      Damage damage = forges ? drawn.forge() : drawn.draw();
      if (damage.changes(sound.files)) {
        run(sound, damage);
      }
    }
  }

  private void run(DrawnStore sound, Damage damage) {
    DamageTrial trial = new DamageTrial(sound, damage);
    try {
      trial.run();
    } catch (Throwable e) {
      throw new AssertionError(sound.end + ", " + damage.what() + ": " + e, e);
    }
    trials++;
    refused += trial.refused;
    unreadable += trial.unreadable;
  }

  private static DrawnStore make(long seed) {
    try {
      return new DrawnStore(seed);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void storesThatAreSoundAreRight() {
    Seeds.some(
        getClass(),
        "storesThatAreSoundAreRight",
        STORES,
        DRAWN,
        seed -> {
          DrawnStore sound = make(seed);
          run(sound, new Damage("nothing", sound.files, Set.of(), /* forged= */ false));
        });
    assertEquals(0, refused + unreadable);
  }

  @Test
  void storesAreTheSameEachTime() {
    assertTrue(Damage.sameFiles(make(3).files, make(3).files));
  }

  /** A store without its newest writes, as sound as the one with them. */
  @Test
  void canaryAnOlderStoreIsNoticed() {
    DrawnStore sound = make(1);
    Map<String, byte[]> files = new TreeMap<>(sound.older.get(0));
    Damage damage = new Damage("older", files, Set.of(), /* forged= */ false);
    AssertionError error = assertThrows(AssertionError.class, () -> run(sound, damage));
    assertTrue(String.valueOf(error.getMessage()).contains("none of the states"), error::toString);
  }
}
