package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.sstable.TableFixture.Entry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An iterator goes on in memory that a closed one of its table left. */
final class IteratorMemoryTest {
  private final TableFixture fixture = new TableFixture();

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  private TableReader table(List<Entry> entries, boolean packsBlocks) throws IOException {
    return fixture.open(fixture.write(1, TableFixture.options(128, 4, packsBlocks), entries));
  }

  private static List<Entry> entries(String prefix) {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      entries.add(TableFixture.put(prefix + (100 + i), 1 + i, "value ".repeat(9)));
    }
    return entries;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void iteratorsOpenAtOnceShareNothing(boolean packsBlocks) throws IOException {
    List<Entry> entries = entries("key-");
    try (TableReader table = table(entries, packsBlocks)) {
      table.iterator(fixture.ledger).close();
      InternalIterator first = table.iterator(fixture.ledger);
      InternalIterator second = table.iterator(fixture.ledger);
      first.seekToFirst();
      second.seekToLast();
      for (int i = 0; i < entries.size(); i++) {
        TableFixture.assertSame(entries.get(i), TableFixture.current(first));
        TableFixture.assertSame(entries.get(entries.size() - 1 - i), TableFixture.current(second));
        first.next();
        second.previous();
      }
      first.close();
      second.close();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aClosedIteratorHasNoKeyAndClosesOnce(boolean packsBlocks) throws IOException {
    List<Entry> entries = entries("key-");
    try (TableReader table = table(entries, packsBlocks)) {
      InternalIterator closed = table.iterator(fixture.ledger);
      closed.seekToLast();
      closed.close();
      InternalIterator next = table.iterator(fixture.ledger);
      next.seekToFirst();
      closed.close();
      assertThrows(IllegalStateException.class, closed::keyRegion);
      InternalIterator other = table.iterator(fixture.ledger);
      other.seekToLast();
      TableFixture.assertSame(entries.get(0), TableFixture.current(next));
      next.close();
      other.close();
    }
  }

  @Test
  void onlyALittleIsLeft() throws IOException {
    try (TableReader table = table(entries("k".repeat(5_000)), /* packsBlocks= */ true)) {
      long before = fixture.ledger.bytes(MemoryPurpose.READ);
      InternalIterator iterator = table.iterator(fixture.ledger);
      iterator.seekToLast();
      iterator.close();
      assertEquals(before, fixture.ledger.bytes(MemoryPurpose.READ));
    }
  }

  /** The next iterator goes on in the same memory. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aClosedIteratorThatIsMovedMovesNoOther(boolean packsBlocks) throws IOException {
    List<Entry> entries = entries("key-");
    try (TableReader table = table(entries, packsBlocks)) {
      InternalIterator closed = table.iterator(fixture.ledger);
      closed.seekToFirst();
      closed.close();
      InternalIterator next = table.iterator(fixture.ledger);
      next.seekToFirst();
      next.next();
      byte[] last = entries.get(entries.size() - 1).key();
      List<Executable> moves =
          List.of(
              closed::next,
              closed::previous,
              closed::seekToFirst,
              closed::seekToLast,
              () -> fixture.seek(closed, last, 1),
              () -> fixture.seekBefore(closed, last, 1),
              () -> closed.foresee((tag, region, offset) -> true));
      for (Executable move : moves) {
        assertThrows(RuntimeException.class, move);
        TableFixture.assertSame(entries.get(1), TableFixture.current(next));
      }
      next.next();
      TableFixture.assertSame(entries.get(2), TableFixture.current(next));
      next.close();
    }
  }
}
