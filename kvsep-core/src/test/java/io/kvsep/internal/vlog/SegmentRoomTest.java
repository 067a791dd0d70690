package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.ForwardingFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Room behind the data of a segment, as those find it who read the file. */
final class SegmentRoomTest {
  private static final int ROOM_BYTES = 1000;

  private final LogFixture log = new LogFixture();
  private long end;

  @BeforeEach
  void appendAndMakeRoom() throws IOException {
    log.startSegment(1);
    log.append(1, LogFixture.put("a", "first"));
    // Ends with zeros that are data.
    log.append(2, LogFixture.put("b", new byte[100]));
    end = log.contents(1).length;
    log.writer.makeRoom(end + ROOM_BYTES);
    assertEquals(end + ROOM_BYTES, log.contents(1).length);
  }

  @AfterEach
  void close() {
    log.close();
  }

  @Test
  void aScanEndsInFrontOfIt() {
    try (LogScanner scanner = log.scanner(1)) {
      assertTrue(scanner.next(0));
      assertTrue(scanner.next(2));
      assertFalse(scanner.next(3));
      assertEquals(end, scanner.endOffset());
      assertEquals(end, scanner.lengthWithoutRoom());
      assertEquals(end + ROOM_BYTES, scanner.fileLength());
    }
  }

  @Test
  void whatStandsInItIsFound() throws IOException {
    for (int at : new int[] {0, 1, 7, 8, 500, ROOM_BYTES - 1}) {
      byte[] contents = log.contents(1);
      Arrays.fill(contents, (int) end, contents.length, (byte) 0);
      contents[(int) end + at] = 1;
      log.storage.replace(StoreFiles.segment(1), contents);
      try (LogScanner scanner = log.scanner(1)) {
        while (scanner.next(0)) {
          // to the end
        }
        assertEquals(end + at + 1, scanner.lengthWithoutRoom());
      }
      List<Long> damaged = new ArrayList<>();
      assertEquals(2, survey(damaged));
      assertEquals(List.of(end), damaged);
    }
  }

  @Test
  void aSurveyFindsNoDamageInIt() {
    List<Long> damaged = new ArrayList<>();
    assertEquals(2, survey(damaged));
    assertEquals(List.of(), damaged);
  }

  @Test
  void whatIsAppendedLaterTakesItsPlace() throws IOException {
    log.append(3, LogFixture.put("c", new byte[ROOM_BYTES / 2]));
    assertEquals(end + ROOM_BYTES, log.contents(1).length);
    log.append(4, LogFixture.put("d", new byte[ROOM_BYTES]));
    assertTrue(log.contents(1).length > end + ROOM_BYTES);
    List<Long> damaged = new ArrayList<>();
    assertEquals(4, survey(damaged));
    assertEquals(List.of(), damaged);
  }

  @Test
  void zerosInTheMiddleOfTheLogAreRoomOnlyBehindAnEnd() throws IOException {
    List<Long> damaged = new ArrayList<>();
    assertEquals(2, survey(damaged, /* last= */ false));
    assertEquals(List.of(end), damaged);
    damaged.clear();
    log.writer.endSegment();
    assertEquals(2, survey(damaged, /* last= */ false));
    assertEquals(List.of(), damaged);
  }

  @Test
  void aSegmentThatIsGoneHasNoneToCut() {
    Segment segment = log.writer.active();
    assertNotNull(segment);
    log.directory.unlist(1);
    segment.free();
    log.writer.detach();
    assertNull(log.writer.active());
  }

  @Test
  void cuttingItOffLeavesTheData() throws IOException {
    log.writer.cutRoom();
    assertEquals(end, log.contents(1).length);
    log.writer.cutRoom();
    assertEquals(end, log.contents(1).length);
  }

  /** Returns how many records hold; {@code damaged} gets where damage begins. */
  private long survey(List<Long> damaged) {
    return survey(damaged, /* last= */ true);
  }

  /** As a writer does that syncs a segment which has ended. */
  @Test
  void roomThatIsCutOffBesideASurveyIsNotLookedAt() {
    Storage cutting =
        new ForwardingStorage(log.storage) {
          @Override
          protected StorageFile wrap(StorageFile file) {
            return new ForwardingFile(file) {
              @Override
              public long length() throws IOException {
                long length = super.length();
                log.writer.cutRoom();
                return length;
              }
            };
          }
        };
    List<Long> damaged = new ArrayList<>();
    assertEquals(2, survey(cutting, end, damaged, /* last= */ true));
    assertEquals(List.of(), damaged);
  }

  private long survey(List<Long> damaged, boolean last) {
    return survey(log.storage, -1, damaged, last);
  }

  private static long survey(Storage storage, long end, List<Long> damaged, boolean last) {
    AuditSink sink =
        new AuditSink() {
          @Override
          public void record(Region region, RecordView record, long offset, long sequence) {}

          @Override
          public void damaged(long from, long to, CorruptionException what) {
            damaged.add(from);
          }
        };
    return SegmentAudit.run(storage, LogFixture.STORE, 1, end, 0, last, sink, () -> {}).records();
  }
}
