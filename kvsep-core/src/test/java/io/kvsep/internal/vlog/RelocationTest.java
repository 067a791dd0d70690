package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.RelocationFixture.Sample;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Records that were copied to other files are found under the names they always had. */
final class RelocationTest {
  @Test
  void recordsOfSeveralSegmentsAreFoundAtTheirOldPlaces() {
    Seeds.each(RelocationTest.class, Integer.getInteger("kvsep.seeds", 20), RelocationTest::run);
  }

  /** Two generations of rewriting: the second one finds some records where the first put them. */
  private static void run(Random random) throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.log.compressionBytesMin = 64;
      List<Sample> old = new ArrayList<>();
      for (int segment = 1; segment <= 4; segment++) {
        files.startSegment(segment);
        for (int i = random.nextInt(40); i >= 0; i--) {
          old.add(files.putRandom(random, random.nextInt(8) == 0 ? 300_000 : 3_000));
        }
      }
      old.add(files.putRandom(random, 4 << 20));
      files.startSegment(5);
      List<Sample> young = List.of(files.putRandom(random, 2_000));
      files.startSegment(6);

      Collections.shuffle(old, random);
      List<Sample> kept = old.subList(0, 1 + random.nextInt(old.size()));
      List<Sample> dead = old.subList(kept.size(), old.size());
      files.list(7, files.relocate(7, kept), kept);
      for (int segment = 1; segment <= 4; segment++) {
        files.drop(segment);
      }
      files.check(kept);
      files.check(young);
      dead.forEach(files::checkLost);

      List<Sample> still = new ArrayList<>(kept.subList(0, random.nextInt(kept.size() + 1)));
      List<Sample> gone = kept.subList(still.size(), kept.size());
      still.addAll(young);
      Collections.shuffle(still, random);
      files.list(8, files.relocate(8, still), still);
      files.check(kept);
      files.drop(7);
      files.drop(5);
      files.check(still);
      gone.forEach(files::checkLost);
      dead.forEach(files::checkLost);
    }
  }

  @Test
  void aSearchAsksForFewPages() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Random random = new Random(1);
      List<Sample> samples = new ArrayList<>();
      for (int i = 0; i < 3_000; i++) {
        samples.add(files.put("key" + i, 20 + random.nextInt(40)));
      }
      files.startSegment(2);
      Collections.shuffle(samples, random);
      files.list(3, files.relocate(3, samples), samples);
      files.drop(1);
      files.log.beCold();
      files.log.loads.clear();
      files.check(samples);
      double loads = (double) files.log.loads.size() / samples.size();
      assertTrue(loads < 2.5, loads + " for the record and its relocation");

      files.log.loads.clear();
      Sample last = samples.get(samples.size() - 1);
      assertArrayEquals(last.value(), files.log.readLoaded(last.pointer(), last.key()));
      assertEquals(List.of(), files.log.loads, "of what was just loaded");
    }
  }

  @Test
  void aPointerMayNameTheRelocatedFileItself() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample first = files.put("first", 300);
      Sample second = files.put("second", 500);
      files.startSegment(2);
      files.list(3, files.relocate(3, List.of(second, first)), List.of(first, second));
      files.drop(1);
      long offset = LogFormat.SEGMENT_HEADER_BYTES;
      Sample renamed = files.renamed(second, 3, offset);
      files.check(renamed);

      // Rewritten in turn, the record is known by the one name and the other by its own.
      List<Sample> all = List.of(first, renamed);
      files.list(4, files.relocate(4, all), all);
      files.drop(3);
      files.check(all);
      files.checkLost(second);
    }
  }

  @Test
  void theOwnFileComesFirstAndThenTheNewestHome() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample sample = files.put("key", 100);
      Sample other = files.put("other", 100);
      files.startSegment(2);
      List<Sample> all = List.of(sample, other);
      Segment newest = files.list(5, files.relocate(5, List.of(sample)), all);
      Segment older = files.list(4, files.relocate(4, all), all);
      SegmentDirectory directory = files.log.directory;
      Segment own = directory.get(1);
      assertSame(own, located(files, sample));
      assertEquals(4, directory.all().size());
      assertEquals(
          directory.all().stream().mapToLong(Segment::publishedEnd).sum(), directory.bytes());

      assertSame(own, directory.unlist(1));
      assertNull(directory.unlist(1));
      assertSame(newest, located(files, sample));
      assertSame(older, located(files, other));
      files.check(all);

      assertSame(newest, directory.unlist(5));
      assertSame(older, located(files, sample));
      files.check(all);

      assertSame(older, directory.unlist(4));
      RecordPlace place = new RecordPlace();
      assertFalse(directory.locate(1, files.offset(sample), place));
      assertEquals("000001.vlog", files.checkLost(sample).file());
      List.of(own, older, newest).forEach(Segment::free);
    }
  }

  private static Segment located(RelocationFixture files, Sample sample) {
    RecordPlace place = new RecordPlace();
    files.log.directory.require(files.segment(sample), files.offset(sample), place);
    return place.segment();
  }

  @Test
  void aHomeIsAListedRelocatedFile() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> all = List.of(files.put("key", 100));
      files.startSegment(2);
      SegmentDirectory directory = files.log.directory;
      Segment file = files.open(3, files.relocate(3, all));
      assertThrows(IllegalStateException.class, () -> directory.addHomes(List.of(1L), file));
      directory.add(file);
      assertThrows(IllegalArgumentException.class, () -> directory.addHomes(List.of(3L), file));
      assertThrows(
          IllegalArgumentException.class, () -> directory.addHomes(List.of(2L), directory.get(1)));
      directory.addHomes(List.of(1L), file);
      directory.addHomes(List.of(1L), file);
      assertTrue(file.isRelocated() && !directory.get(1).isRelocated());
      files.drop(1);
      files.check(all);
    }
  }

  @Test
  void whatNoHomeHasIsDamageOfTheNewest() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample dead = files.put("dead", 100);
      List<Sample> all = List.of(files.put("key", 100));
      files.startSegment(2);
      long length = files.relocate(3, all);
      files.list(3, length, all);
      files.drop(1);
      CorruptionException e = files.checkLost(dead);
      assertEquals("000003.vlog", e.file());
      assertEquals(length, e.offset());
      for (long offset : new long[] {0, -1, 1L << 32, Long.MAX_VALUE, Long.MIN_VALUE}) {
        files.checkLost(files.renamed(all.get(0), 1, offset));
      }
    }
  }

  @Test
  void readingARelocatedRecordAgainTouchesNoFile() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> all = List.of(files.put("a", 100), files.put("b", 200));
      files.startSegment(2);
      files.list(3, files.relocate(3, all), all);
      files.drop(1);
      files.check(all);
      files.log.storage.clearTrace();
      files.check(all);
      assertEquals(List.of(), files.log.storage.trace());
    }
  }

  @Test
  void aBatchReadsRecordsWhereTheyAreNow() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      List<Sample> all = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        all.add(files.put("key" + (char) ('a' + i), 20_000));
      }
      Sample dead = files.put("dead", 20_000);
      files.startSegment(2);
      Collections.reverse(all);
      files.list(3, files.relocate(3, all), all);
      files.drop(1);
      files.check(all.get(0));
      Region pointers = files.log.ledger.allocate(MemoryPurpose.READ, 100);
      EpochSlot<SlotContext> slot = files.log.epochs.enter();
      try {
        readBatch(files, all, dead, pointers);
      } finally {
        files.log.epochs.exit(slot);
        pointers.free();
      }
    }
  }

  private static void readBatch(
      RelocationFixture files, List<Sample> all, Sample dead, Region pointers) {
    ReadBatch batch = files.log.reader.newBatch();
    for (int i : new int[] {15, 5, 14}) {
      pointers.put(0, all.get(i).pointer(), 0, all.get(i).pointer().length);
      batch.add(pointers, 0);
    }
    pointers.put(50, dead.pointer(), 0, dead.pointer().length);
    batch.add(pointers, 50);
    batch.prepare();
    files.log.storage.clearTrace();
    files.log.beCold();
    files.log.loads.clear();
    batch.finish();
    // The last two are neighbours there.
    int length = files.length(dead);
    assertEquals(List.of(length, 2 * length), files.log.loads);
    assertEquals(3, batch.count());
    assertTrue(batch.covers(pointers, 0));
    assertFalse(batch.covers(pointers, 50));
  }

  @Test
  void relocationsAreFoundHoweverTheyAreSpread() {
    Seeds.each(RelocationTest.class, Integer.getInteger("kvsep.seeds", 20), RelocationTest::lookUp);
  }

  private static void lookUp(Random random) throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      RelocatedBytes bytes = new RelocatedBytes();
      List<long[]> tables = new ArrayList<>();
      for (int segment = 1; segment <= 5; segment++) {
        long[] offsets = spread(random);
        tables.add(offsets);
        bytes.segment(2L * segment, offsets);
      }
      byte[] file = bytes.toBytes(9);
      files.log.storage.replace("000009.vlog", file);
      Segment segment = files.open(9, file.length);
      for (int i = 0; i < tables.size(); i++) {
        long id = 2L * (i + 1);
        long[] offsets = tables.get(i);
        for (int j = 0; j < offsets.length; j++) {
          assertEquals(RelocatedBytes.newOffset(id, offsets[j]), segment.find(id, offsets[j]));
          boolean gapBehind = j + 1 == offsets.length || offsets[j + 1] > offsets[j] + 1;
          if (gapBehind) {
            assertEquals(-1, segment.find(id, offsets[j] + 1));
          }
        }
        assertEquals(-1, segment.find(id, offsets[0] - 1));
        for (long absent : new long[] {-1, 1L << 32, Long.MIN_VALUE, Long.MAX_VALUE}) {
          assertEquals(-1, segment.find(id, absent));
        }
        assertEquals(-1, segment.find(id - 1, offsets[0]));
      }
      assertEquals(-1, segment.find(Long.MIN_VALUE, 50));
      segment.free();
    }
  }

  /** Offsets, ascending: even, in a few clusters, or ever farther apart. */
  private static long[] spread(Random random) {
    int count = 1 + random.nextInt(random.nextBoolean() ? 5 : 3_000);
    int shape = random.nextInt(3);
    long[] offsets = new long[count];
    long at = 40;
    for (int i = 0; i < count; i++) {
      offsets[i] = at;
      long step =
          switch (shape) {
            case 0 -> 1 + random.nextInt(300);
            case 1 -> random.nextInt(100) == 0 ? 1 + random.nextInt(20_000_000) : 1;
            default -> 1 + at / (1 + random.nextInt(40));
          };
      if (at + step > 0xffff_ffffL) {
        return Arrays.copyOf(offsets, i + 1);
      }
      at += step;
    }
    return offsets;
  }

  @Test
  void theChecksumOfTheFirstWriteGoesWithTheRecord() throws IOException {
    try (RelocationFixture files = new RelocationFixture()) {
      files.startSegment(1);
      Sample sample = files.put("key", 100);
      files.startSegment(2);
      files.relocate(3, List.of(sample));
      byte[] before = record(files, 1, files.offset(sample), files.length(sample));
      long offset = LogFormat.SEGMENT_HEADER_BYTES;
      byte[] after = record(files, 3, offset, files.length(sample));
      int patch = LogFormat.place(1, files.offset(sample)) ^ LogFormat.place(3, offset);
      for (int i = 0; i < 4; i++) {
        before[before.length - 4 + i] ^= (byte) (patch >>> (8 * i));
      }
      assertArrayEquals(before, after);
    }
  }

  private static byte[] record(RelocationFixture files, long id, long offset, int length)
      throws IOException {
    return Arrays.copyOfRange(files.log.contents(id), (int) offset, (int) offset + length);
  }
}
