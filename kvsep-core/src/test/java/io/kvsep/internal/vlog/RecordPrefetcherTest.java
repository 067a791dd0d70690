package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a list of near records takes, and that nothing comes of what cannot be touched. */
final class RecordPrefetcherTest {
  private final LogFixture log = new LogFixture();
  private final List<Indexed> entries = new ArrayList<>();
  private Region pointer;
  private EpochSlot<SlotContext> slot;

  @BeforeEach
  void fill() throws IOException {
    pointer = log.ledger.allocate(MemoryPurpose.READ, ValuePointer.BYTES_MAX);
    log.startSegment(1);
    for (int i = 0; i < 20; i++) {
      byte[] value = LogFixture.random(new Random(i), i < 10 ? 200_000 : 300);
      entries.addAll(log.entries(log.append(i + 1L, LogFixture.put("key" + i, value))));
    }
    log.read(entries.get(0));
    slot = log.epochs.enter();
  }

  @AfterEach
  void close() {
    log.epochs.exit(slot);
    pointer.free();
    log.close();
  }

  @Test
  void takesSoManyRecordsAndSoManyBytes() {
    RecordPrefetcher near = log.reader.newNearRecords();
    for (int times = 0; times < 2; times++) {
      near.begin(100);
      int taken = 1;
      while (add(near, entries.get(10))) {
        taken++;
      }
      assertEquals(16, taken);
      near.touch();
      near.begin(100);
      assertFalse(add(near, entries.get(0)));
      near.touch();
      near.begin(2);
      assertTrue(add(near, entries.get(10)));
      assertFalse(add(near, entries.get(10)));
    }
  }

  @Test
  void longRecordsAreTouchedInWhateverOrderTheyLie() throws IOException {
    List<Indexed> longer = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      byte[] value = LogFixture.random(new Random(i), 4000 + 300 * i);
      longer.addAll(log.entries(log.append(100L + i, LogFixture.put("long" + i, value))));
    }
    // Reading a large one has all before it mapped.
    byte[] large = LogFixture.random(new Random(40), 1_200_000);
    log.read(log.entries(log.append(200, LogFixture.put("large", large))).get(0));
    List<Indexed> shuffled = new ArrayList<>(longer);
    Collections.shuffle(shuffled, new Random(29));
    RecordPrefetcher near = log.reader.newNearRecords();
    for (List<Indexed> order : List.of(longer, shuffled)) {
      int rounds = 0;
      for (int next = 0; next < order.size(); rounds++) {
        near.begin(100);
        boolean room = true;
        while (room && next < order.size()) {
          room = add(near, order.get(next++));
        }
        near.touch();
      }
      // Together they have 400 KB.
      assertTrue(rounds >= 3 && rounds <= 4, rounds + " rounds");
    }
  }

  @Test
  void pointersToNowhereAreLeftAlone() {
    RecordPrefetcher near = log.reader.newNearRecords();
    near.begin(16);
    for (int i = 0; i < 100; i++) {
      assertTrue(add(near, 7, 100, 50));
      assertTrue(add(near, 1, Integer.MAX_VALUE, 50));
      assertTrue(add(near, 1, 1L << 40, 50));
      assertTrue(add(near, 1, 100, 0));
    }
    near.touch();
  }

  private boolean add(RecordPrefetcher near, Indexed entry) {
    pointer.put(0, entry.payload(), 0, entry.payload().length);
    return near.add(pointer, 0);
  }

  private boolean add(RecordPrefetcher near, long segment, long offset, int length) {
    ValuePointer.put(pointer, 0, segment, offset, length, 10);
    return near.add(pointer, 0);
  }
}
