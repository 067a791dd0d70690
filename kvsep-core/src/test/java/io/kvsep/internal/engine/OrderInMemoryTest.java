package io.kvsep.internal.engine;

import static io.kvsep.internal.engine.ScatteredStore.ENTRIES;
import static io.kvsep.internal.engine.ScatteredStore.QUIET_TICKS;
import static io.kvsep.internal.engine.ScatteredStore.SEGMENT_BYTES;
import static io.kvsep.internal.engine.ScatteredStore.STEP;
import static io.kvsep.internal.engine.ScatteredStore.VALUE_BYTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.feed.ChangeReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Which values of a store that fits into memory are put in order when nobody writes. */
final class OrderInMemoryTest {
  private static final long BYTES = (long) ENTRIES * VALUE_BYTES;

  /** What is left as it was written, at least. */
  private static final long NEWEST = BYTES / 6;

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
      assertTrue(left >= NEWEST && left < NEWEST + SEGMENT_BYTES, left + " bytes");
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
  void framesOfLiveRecordsAreNotTakenForReplacedOnes() {
    try (ScatteredStore files = open(SEGMENT_BYTES)) {
      // Each put has a frame of its own, which takes a fifth of what it is about.
      List<Integer> numbers = new ArrayList<>();
      for (int n = 0; n < 9 * ENTRIES; n++) {
        numbers.add(n);
      }
      Collections.shuffle(numbers, new Random(6));
      numbers.forEach(n -> files.put(n, 150));
      files.engine.compact();
      files.rest();
      assertTrue(files.inOrder() > 0, "nothing was put in order");
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
      // When less is left than would be begun with, somebody writes, and rests.
      for (int i = 0; i < 3 * QUIET_TICKS && files.bytesAsWritten() > NEWEST + BYTES / 8; i++) {
        files.ticks(1);
      }
      long left = files.bytesAsWritten();
      assertTrue(left > NEWEST + SEGMENT_BYTES, left + " bytes");
      files.put(STEP);
      files.rest();
      assertTrue(files.bytesAsWritten() < NEWEST + SEGMENT_BYTES, files.bytesAsWritten() + "");
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
        assertNotNull(changes.poll(each -> each), "change " + i);
      }
      changes.close();
      files.rest();
      assertTrue(files.bytesAsWritten() < BYTES / 3, files.bytesAsWritten() + " bytes");
    }
  }
}
