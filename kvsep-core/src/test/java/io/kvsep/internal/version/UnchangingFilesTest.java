package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.io.StoreFiles;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class UnchangingFilesTest {
  /** The edit that seals a segment may be durable before its content is. */
  @Test
  void aSealedSegmentThatMayBeReplayedIsNotDurable() {
    EditReplay replay = new EditReplay();
    replay.add(
        new VersionEdit()
            .addSegment(1)
            .addSegment(2)
            .addSegment(3)
            .addSegment(4)
            .addRelocated(5, 100)
            .sealSegment(1, 100, 10)
            .sealSegment(2, 100, 20)
            .sealSegment(3, 100, 30)
            .replayFrom(new LogPosition(2, 50))
            .lastSequence(30)
            .nextSegmentId(6));

    assertEquals(Set.of(StoreFiles.segment(1), StoreFiles.segment(5)), replay.unchangingFiles());
  }
}
