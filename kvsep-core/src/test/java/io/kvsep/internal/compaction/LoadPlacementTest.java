package io.kvsep.internal.compaction;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The lowest level for a table that is newer than all others. */
final class LoadPlacementTest extends PickerFixture {
  private static final int LAST = Version.LEVELS - 1;

  LoadPlacementTest() throws IOException {}

  private int level(String smallest, String largest, CompactionPlan... running) {
    TableMeta meta =
        new TableMeta(
            1_000,
            100,
            smallest.getBytes(UTF_8),
            largest.getBytes(UTF_8),
            1_000,
            1_000,
            1,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            List.of());
    return LoadPlacement.level(versions.current(), List.of(running), meta);
  }

  private CompactionPlan running(int from, int to, long... tables) {
    List<TableFile> inputs = List.copyOf(files(tables));
    return new CompactionPlan(from, to, inputs, List.of(), /* bottom= */ false, /* move= */ false);
  }

  @Test
  void theLowestLevelAboveAllThatHasItsKeys() {
    assertEquals(LAST, level("m", "n"));
    table(4, "a", "m", 100);
    table(2, "z", "z", 100);
    assertEquals(3, level("m", "n"));
    assertEquals(LAST, level("n", "y"));
    assertEquals(1, level("n", "z"));
    table(0, "n", "n", 100);
    assertEquals(0, level("m", "n"));
  }

  /** What it writes may take all keys between its tables. */
  @Test
  void aboveACompactionAtWorkThatItLiesInAGapOf() {
    long first = table(2, "a", "b", 100);
    long last = table(2, "y", "z", 100);
    assertEquals(LAST, level("m", "n"));
    assertEquals(1, level("m", "n", running(2, 5, first, last)));
    assertEquals(1, level("m", "n", running(2, 2, first, last)));
    assertEquals(LAST, level("m", "n", running(2, 5, first)));
    assertEquals(LAST, level("m", "n", running(2, 5, last), running(2, 5, first)));
  }
}
