package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How far a cursor with a limit goes, and what it does there. */
final class ScanLimitTest {
  @TempDir Path directory;

  @BeforeEach
  void fill() {
    try (KvStore store = KvStore.open(directory)) {
      for (byte key = 1; key <= 9; key++) {
        store.put(new byte[] {key}, new byte[] {key});
      }
    }
  }

  @Test
  void nextFindsAsManyAsTheLimitAndPreviousStepsBackIn() {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor(ScanOptions.all().limit(3))) {
      for (byte key = 1; key <= 3; key++) {
        assertTrue(cursor.next());
        assertArrayEquals(new byte[] {key}, cursor.key());
      }
      assertFalse(cursor.next());
      assertFalse(cursor.isValid());
      assertFalse(cursor.next());
      assertTrue(cursor.previous());
      assertArrayEquals(new byte[] {3}, cursor.key());
      assertTrue(cursor.previous());
      assertArrayEquals(new byte[] {2}, cursor.key());
      assertTrue(cursor.next());
      assertArrayEquals(new byte[] {3}, cursor.key());
      assertFalse(cursor.next());
    }
  }

  @Test
  void aLimitOfZeroShowsNothingWhereverTheCursorGoes() {
    try (KvStore store = KvStore.open(directory)) {
      for (ScanOptions options : List.of(ScanOptions.all(), ScanOptions.all().reverse())) {
        try (KvCursor cursor = store.cursor(options.limit(0))) {
          assertFalse(cursor.next());
          assertFalse(cursor.previous());
          assertFalse(cursor.seek(new byte[] {3}));
          assertFalse(cursor.next());
          assertFalse(cursor.seekFloor(new byte[] {3}));
          assertFalse(cursor.previous());
          assertFalse(cursor.isValid());
        }
      }
    }
  }

  @Test
  void reverseLimitCountsFromTheEnd() {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor(ScanOptions.all().reverse().limit(2))) {
      assertTrue(cursor.next());
      assertArrayEquals(new byte[] {9}, cursor.key());
      assertTrue(cursor.next());
      assertArrayEquals(new byte[] {8}, cursor.key());
      assertFalse(cursor.next());
    }
  }

  @Test
  void steppingOffTheFrontGivesTheStepBack() {
    try (KvStore store = KvStore.open(directory)) {
      for (int limit = 1; limit <= 3; limit++) {
        try (KvCursor cursor = store.cursor(ScanOptions.all().limit(limit))) {
          for (int walk = 0; walk < 3; walk++) {
            assertTrue(cursor.next());
            assertFalse(cursor.previous());
            assertFalse(cursor.previous());
          }
          for (byte key = 1; key <= limit; key++) {
            assertTrue(cursor.next());
            assertArrayEquals(new byte[] {key}, cursor.key());
          }
          assertFalse(cursor.next());
          assertTrue(cursor.previous());
          assertArrayEquals(new byte[] {(byte) limit}, cursor.key());
        }
      }
    }
  }

  @Test
  void theEndStaysWhereItIsHoweverFarTheCursorStepsBack() {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor(ScanOptions.all().limit(2))) {
      assertTrue(cursor.seek(new byte[] {5}));
      for (byte key = 4; key >= 1; key--) {
        assertTrue(cursor.previous());
        assertArrayEquals(new byte[] {key}, cursor.key());
      }
      assertFalse(cursor.previous());
      for (byte key = 1; key <= 6; key++) {
        assertTrue(cursor.next());
        assertArrayEquals(new byte[] {key}, cursor.key());
      }
      assertFalse(cursor.next());
      assertTrue(cursor.previous());
      assertArrayEquals(new byte[] {6}, cursor.key());
    }
  }

  @Test
  void aNewCursorAsksForTheLastOfAllAndGoesBackFromThere() {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor(ScanOptions.all().limit(2))) {
      for (byte key = 9; key >= 1; key--) {
        assertTrue(cursor.previous());
        assertArrayEquals(new byte[] {key}, cursor.key());
      }
      assertFalse(cursor.previous());
    }
  }

  @Test
  void seekStartsTheCountAnewAndZeroFindsNothing() {
    try (KvStore store = KvStore.open(directory)) {
      try (KvCursor cursor = store.cursor(ScanOptions.all().limit(1))) {
        assertTrue(cursor.next());
        assertFalse(cursor.next());
        assertTrue(cursor.seek(new byte[] {5}));
        assertArrayEquals(new byte[] {5}, cursor.key());
        assertFalse(cursor.next());
      }
      try (KvCursor cursor = store.cursor(ScanOptions.all().limit(0))) {
        assertFalse(cursor.next());
        assertFalse(cursor.previous());
        assertFalse(cursor.seek(new byte[] {5}));
        assertFalse(cursor.previous());
        assertFalse(cursor.seekFloor(new byte[] {5}));
        assertFalse(cursor.next());
      }
    }
  }
}
