package io.kvsep.internal.engine;

import static io.kvsep.internal.engine.ScatteredStore.ENTRIES;
import static io.kvsep.internal.engine.ScatteredStore.QUIET_TICKS;
import static io.kvsep.internal.engine.ScatteredStore.SEGMENT_BYTES;
import static io.kvsep.internal.engine.ScatteredStore.STEP;
import static io.kvsep.internal.engine.ScatteredStore.VALUE_BYTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Which values of a store that fits into memory are put in order when nobody writes. */
final class OrderInMemoryTest {
  private static final long BYTES = (long) ENTRIES * VALUE_BYTES;

  private static ScatteredStore open(long orderWarmFromBytes) {
    return new ScatteredStore(() -> Long.MAX_VALUE, orderWarmFromBytes);
  }

  /** Keys behind all others, in no order. */
  private static void putBehind(ScatteredStore files, int count, int round) {
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      numbers.add((round * ENTRIES + i) * STEP);
    }
    Collections.shuffle(numbers, new Random(round));
    numbers.forEach(files::put);
    files.engine.compact();
  }

  /** Other values of keys that are there, in no order. */
  private static void overwrite(ScatteredStore files, int count) {
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < ENTRIES; i++) {
      numbers.add(i * STEP);
    }
    Collections.shuffle(numbers, new Random(5));
    numbers.subList(0, count).forEach(files::put);
    files.engine.compact();
  }

  @Test
  void allButTheNewestIsPutInOrderOnce() throws IOException {
    try (ScatteredStore files = open(BYTES / 2)) {
      files.fill(/* inOrder= */ false);
      files.rest();
      long left = files.bytesAsWritten();
      assertTrue(left >= BYTES / 6 && left < BYTES / 6 + SEGMENT_BYTES, left + " bytes");
      assertEquals(List.of(), PointerRefreshTest.oldNames(files.storage));
      long once = files.rewritten();
      files.rest();
      assertEquals(once, files.rewritten());
    }
  }

  @Test
  void aSmallStoreStaysAsItIs() {
    try (ScatteredStore files = open(2 * BYTES)) {
      files.fill(/* inOrder= */ false);
      files.rest();
      assertEquals(0, files.rewritten());
    }
  }

  @Test
  void aStoreThatIsBeingOverwrittenIsLeftToReclaim() {
    try (ScatteredStore files = open(BYTES / 2)) {
      files.fill(/* inOrder= */ false);
      // More than a tenth is garbage, and less than reclaim would do something about.
      overwrite(files, ENTRIES * 15 / 100);
      files.rest();
      assertEquals(0, files.rewritten());
    }
  }

  @Test
  void aStoreOfWhichLittleWasOverwrittenIsNot() {
    try (ScatteredStore files = open(BYTES / 2)) {
      files.fill(/* inOrder= */ false);
      overwrite(files, ENTRIES * 5 / 100);
      files.rest();
      assertTrue(files.bytesAsWritten() < BYTES / 3, files.bytesAsWritten() + " bytes");
    }
  }

  @Test
  void nothingIsMovedBeforeAnEighthIsOutOfOrder() {
    try (ScatteredStore files = open(BYTES / 2)) {
      files.fill(/* inOrder= */ true);
      files.rest();
      putBehind(files, ENTRIES / 5, 1);
      files.rest();
      assertEquals(0, files.rewritten());
      putBehind(files, ENTRIES / 2, 2);
      files.rest();
      long moved = files.rewritten();
      assertTrue(moved >= 4 && moved <= 6, moved + " files");
      putBehind(files, ENTRIES / 20, 3);
      files.rest();
      assertEquals(moved, files.rewritten());
    }
  }

  @Test
  void whatWasBegunIsEnded() {
    try (ScatteredStore files = open(BYTES / 2)) {
      files.fill(/* inOrder= */ false);
      // In the middle of it somebody writes, and rests.
      for (int i = 0; i < 10 && files.rewritten() == 0; i++) {
        files.ticks(QUIET_TICKS / 5);
      }
      files.put(STEP);
      files.rest();
      files.put(2 * STEP);
      files.rest();
      assertTrue(files.bytesAsWritten() < BYTES / 3, files.bytesAsWritten() + " bytes");
    }
  }

  @Test
  void whatAReaderOfChangesMayStillWantStaysWhereItIs() {
    try (ScatteredStore files = open(BYTES / 2)) {
      files.fill(/* inOrder= */ false);
      ChangeReader changes = files.engine.changes().open(0);
      files.rest();
      assertEquals(0, files.rewritten());
      for (int i = 0; i < ENTRIES; i++) {
        assertNotNull(changes.poll(), "change " + i);
      }
      changes.close();
      files.rest();
      assertTrue(files.bytesAsWritten() < BYTES / 3, files.bytesAsWritten() + " bytes");
    }
  }
}
