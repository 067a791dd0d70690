package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.RepairHistory.Outcome;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Seeds;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Repair restores what can be proved, lists the rest, and never makes anything up. */
final class RepairTest {
  private static final int SEEDS = 40;

  /** Of a short run. */
  private static final int DRAWN = 3;

  private static final int STEPS = 400;

  private static boolean isTable(String name) {
    return StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE;
  }

  private static boolean isManifest(String name) {
    return name.equals(StoreFiles.CURRENT) || StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST;
  }

  private static boolean isLog(String name) {
    return StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
  }

  @Test
  void aSoundStoreComesBackAsItWas() {
    Seeds.some(
        getClass(),
        SEEDS,
        DRAWN,
        random -> {
          RepairHistory history = new RepairHistory(random, true);
          CrashableStorage store = history.run(STEPS, random.nextBoolean());

          Outcome outcome = history.repair(store);

          assertEquals(history.expected(), outcome.entries());
          assertTrue(outcome.result().manifestUsed());
          assertNothingLost(outcome.result());
        });
  }

  private static void assertNothingLost(RepairReport result) {
    assertEquals(List.of(), result.losses());
    assertEquals(List.of(), result.uncertain());
    assertEquals(0, result.lossCount() + result.uncertainCount());
  }

  @Test
  void aLostCurrentCostsNothing() {
    Seeds.some(
        getClass(),
        SEEDS,
        DRAWN,
        random -> {
          RepairHistory history = new RepairHistory(random, true);
          Outcome outcome = without(history, history.run(STEPS, true), "CURRENT"::equals);

          assertEquals(history.expected(), outcome.entries());
          assertTrue(outcome.result().manifestUsed());
          assertEquals(1, outcome.result().lossCount());
        });
  }

  @Test
  void withoutAManifestTheTablesTellWhatThereIs() {
    Seeds.some(getClass(), SEEDS, DRAWN, RepairTest::withoutManifest);
  }

  @Test
  void withoutAManifestARecordThatMovedTwiceIsNotTakenForNewerThanTheTables() {
    // Its name is a place in the first of the relocated files, which is gone.
    Seeds.run(
        getClass(),
        "withoutAManifestARecordThatMovedTwiceIsNotTakenForNewerThanTheTables",
        98,
        1,
        seed -> withoutManifest(new Random(seed)));
  }

  private static void withoutManifest(Random random) {
    RepairHistory history = new RepairHistory(random, true);
    boolean closes = random.nextBoolean();
    Outcome outcome = without(history, history.run(STEPS, closes), RepairTest::isManifest);

    assertFalse(outcome.result().manifestUsed());
    assertEquals(List.of(), history.faults(outcome));
    TreeMap<String, String> missing = new TreeMap<>(history.expected());
    missing.keySet().removeAll(outcome.entries().keySet());
    assertEquals(Map.of(), missing, "nothing is missing as long as the tables are there");
  }

  @Test
  void aLogThatWasNeverReclaimedIsEnoughByItself() {
    Predicate<String> tables = RepairTest::isTable;
    for (Predicate<String> deleted : List.of(tables, tables.or(RepairTest::isManifest))) {
      Seeds.some(
          getClass(),
          SEEDS,
          DRAWN,
          random -> {
            RepairHistory history = new RepairHistory(random, false);
            CrashableStorage store = history.run(STEPS, random.nextBoolean());
            Outcome outcome = without(history, store, deleted);

            if (RepairHistory.files(store).keySet().stream()
                .allMatch(name -> !isLog(name) || name.equals(StoreFiles.segment(1)))) {
              assertEquals(history.expected(), outcome.entries());
              assertEquals(List.of(), outcome.result().uncertain());
            } else {
              // All of a segment was dead, so it went without reclaim.
              assertEquals(List.of(), history.faults(outcome));
            }
          });
    }
  }

  @Test
  void whatReclaimHasDroppedIsListedAsUncertain() {
    Predicate<String> tables = RepairTest::isTable;
    for (Predicate<String> deleted : List.of(tables, tables.or(RepairTest::isManifest))) {
      Seeds.some(
          getClass(),
          SEEDS,
          DRAWN,
          random -> {
            RepairHistory history = new RepairHistory(random, true);
            Outcome outcome = without(history, history.run(STEPS, random.nextBoolean()), deleted);

            assertEquals(List.of(), history.faults(outcome));
          });
    }
  }

  @Test
  void aTableDamagedAnywhereLosesNoMoreThanIsListed() {
    sweep(RepairTest::isTable, 40);
  }

  @Test
  void aLogDamagedAnywhereLosesNoMoreThanIsListed() {
    sweep(RepairTest::isLog, 40);
  }

  @Test
  void anyDamageLosesNoMoreThanIsListed() {
    sweep(name -> true, 40);
  }

  @Test
  void aDamagedByteOfATableCostsNoMoreThanTheBlockItIsIn() {
    RepairHistory history = new RepairHistory(new Random(5), true);
    Map<String, byte[]> files = RepairHistory.files(history.run(STEPS, true));
    String name = "";
    for (String table : files.keySet().stream().filter(RepairTest::isTable).toList()) {
      name = bytes(files, table).length > bytes(files, name).length ? table : name;
    }
    int length = bytes(files, name).length;
    int most = 0;
    int whole = 0;
    for (int at = 0; at < length; at += 1 + length / 150) {
      Map<String, byte[]> copy = new TreeMap<>(files);
      byte[] changed = bytes(files, name).clone();
      changed[at] ^= 1;
      copy.put(name, changed);
      Outcome outcome = history.repair(RepairHistory.storageOf(copy));
      int offset = at;
      assertEquals(List.of(), history.faults(outcome), () -> "flipped at " + offset);
      int missing = 0;
      for (String key : history.expected().keySet()) {
        missing += outcome.entries().containsKey(key) ? 0 : 1;
      }
      most = Math.max(most, missing);
      whole += outcome.result().lossCount() == 0 ? 1 : 0;
      for (RepairReport.Loss loss : outcome.result().losses()) {
        assertTrue(loss.file().equals(name) || loss.key().length > 0, loss::toString);
      }
    }
    assertTrue(most <= 20, most + " keys missing after one flipped bit");
    assertTrue(whole > 0, "filter, index and header hold no entry");
  }

  private static byte[] bytes(Map<String, byte[]> files, String name) {
    return files.getOrDefault(name, new byte[0]);
  }

  private void sweep(Predicate<String> damaged, int damages) {
    Seeds.some(
        getClass(),
        SEEDS,
        DRAWN,
        random -> {
          RepairHistory history = new RepairHistory(random, true);
          Map<String, byte[]> files = RepairHistory.files(history.run(STEPS, random.nextBoolean()));
          List<String> names = files.keySet().stream().filter(damaged).toList();
          for (int i = 0; i < damages && !names.isEmpty(); i++) {
            Map<String, byte[]> copy = new TreeMap<>(files);
            StringBuilder what = new StringBuilder();
            for (int j = random.nextInt(3); j >= 0; j--) {
              what.append(damage(copy, names.get(random.nextInt(names.size())), random));
            }
            CrashableStorage storage = RepairHistory.storageOf(copy);
            Outcome outcome = history.repair(storage);
            if (!isBeyondTelling(what.toString())) {
              assertEquals(List.of(), history.faults(outcome), what::toString);
            }
          }
        });
  }

  /**
   * Where a log ends between two frames nothing tells that there were more, and where a file is
   * gone together with the manifest, nothing tells that there was one.
   */
  private static boolean isBeyondTelling(String what) {
    boolean withoutManifest = what.contains("MANIFEST") || what.contains("CURRENT");
    return what.contains(".vlog cut")
        || (withoutManifest && (what.contains(".vlog deleted") || what.contains(".sst deleted")));
  }

  private static String damage(Map<String, byte[]> files, String name, Random random) {
    byte[] bytes = files.get(name);
    if (bytes == null || bytes.length == 0) {
      return "";
    }
    int kind = random.nextInt(10);
    int at = random.nextInt(bytes.length);
    byte[] changed = bytes.clone();
    if (kind == 0) {
      files.remove(name);
      return name + " deleted; ";
    }
    if (kind == 1) {
      files.put(name, Arrays.copyOf(bytes, at));
      return name + " cut to " + at + "; ";
    }
    if (kind <= 3) {
      int to = Math.min(bytes.length, at + random.nextInt(1, 600));
      Arrays.fill(changed, at, to, (byte) (kind == 2 ? 0 : 0xff));
      files.put(name, changed);
      return name + " filled from " + at + " to " + to + "; ";
    }
    changed[at] ^= (byte) (1 << random.nextInt(8));
    files.put(name, changed);
    return name + " flipped at " + at + "; ";
  }

  @Test
  void aDamagedValueIsLostByNameAndNoOlderOneComesBack() {
    Seeds.some(
        getClass(),
        SEEDS,
        DRAWN,
        random -> {
          RepairHistory history = new RepairHistory(random, false);
          Map<String, byte[]> files = RepairHistory.files(history.run(STEPS, true));
          String log = files.keySet().stream().filter(RepairTest::isLog).findFirst().orElseThrow();
          byte[] bytes = java.util.Objects.requireNonNull(files.get(log)).clone();
          bytes[random.nextInt(40, bytes.length)] ^= 4;
          files.put(log, bytes);

          Outcome outcome = history.repair(RepairHistory.storageOf(files));

          for (Map.Entry<String, String> entry : outcome.entries().entrySet()) {
            assertEquals(history.expected().get(entry.getKey()), entry.getValue());
          }
          int missing = history.expected().size() - outcome.entries().size();
          assertEquals(missing, outcome.result().lossCount());
          assertTrue(missing <= 1, "one bit, " + missing + " values");
        });
  }

  @Test
  void canaryAWrongValueAndAnInventedKeyAreFaults() {
    RepairHistory history = new RepairHistory(new Random(1), true);
    Outcome outcome = history.repair(history.run(STEPS, true));
    assertEquals(List.of(), history.faults(outcome));
    String first = outcome.entries().firstKey();

    outcome.entries().put(first, "00112233445566");
    assertEquals(1, history.faults(outcome).size());
    outcome.entries().remove(first);
    assertEquals(1, history.faults(outcome).size());
    outcome.entries().put(first, String.valueOf(history.expected().get(first)));
    outcome.entries().put("/ffffffff", "");
    assertEquals(1, history.faults(outcome).size());
  }

  private static Outcome without(
      RepairHistory history, CrashableStorage store, Predicate<String> deleted) {
    Map<String, byte[]> files = RepairHistory.files(store);
    files.keySet().removeIf(deleted);
    return history.repair(RepairHistory.storageOf(files));
  }
}
