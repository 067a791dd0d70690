package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvsep.internal.vlog.LogFixture.Indexed;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class SegmentDirectoryTest {
  private final LogFixture log = new LogFixture();

  @Test
  void filesWithIdsFarApartAreFoundAndCostNoMoreThanOthers() throws IOException {
    long[] ids = {1, 5, 4_000_000_000L, 9_000_000_000L, 9_000_000_001L, 9_000_000_900L};
    List<Indexed> spread = new ArrayList<>();
    long bytes = 0;
    for (long id : ids) {
      spread.add(append(id));
    }
    for (int i = 0; i < ids.length; i++) {
      log.read(spread.get(i));
      bytes += Objects.requireNonNull(log.directory.find(ids[i])).publishedEnd();
    }
    assertEquals(bytes, log.directory.bytes());
    assertEquals(ids(ids), listed());
    for (long absent : new long[] {0, 2, 6, 4_000_000_001L, 9_000_000_002L, 9_000_000_901L}) {
      assertNull(log.directory.find(absent));
    }
    free(5);
    free(9_000_000_000L);
    assertEquals(ids(1, 4_000_000_000L, 9_000_000_001L, 9_000_000_900L), listed());
    log.read(spread.get(2));
    assertNull(log.directory.find(5));
    log.close();
  }

  private static List<Long> ids(long... ids) {
    return LongStream.of(ids).boxed().toList();
  }

  private List<Long> listed() {
    return log.directory.all().stream().map(Segment::id).toList();
  }

  private Indexed append(long segment) throws IOException {
    log.startSegment(segment);
    byte[] value = LogFixture.random(new Random(segment), 20_000);
    Indexed entry = log.entries(log.append(segment, LogFixture.put("key" + segment, value))).get(0);
    log.writer.sync();
    return entry;
  }

  private void free(long id) {
    Segment segment = log.directory.unlist(id);
    if (segment != null) {
      log.epochs.retire(segment::free);
    }
  }
}
