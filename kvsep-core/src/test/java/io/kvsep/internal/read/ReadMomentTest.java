package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.EntryInfo;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.internal.vlog.ValueReader;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Parked;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A batch that ends in another memtable than it began in is committed after a read has its view and
 * before it has its moment. Each read sees all of the batch or nothing.
 */
final class ReadMomentTest {
  private static final byte[] FIRST = {1};
  private static final byte[] SECOND = {2};
  private static final ScanBounds ALL =
      new ScanBounds(Keyspaces.DEFAULT, null, null, false, false, Long.MAX_VALUE, 0);

  private final BareVersions versions = new BareVersions();
  private final MemoryLedger ledger = versions.ledger;
  private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);
  private final CurrentReadState currentState =
      new CurrentReadState(epochs, versions::current, scheduler, new FailureState());

  /** Runs once, before a read is told its moment. */
  private Runnable beforeMoment = () -> {};

  private final SnapshotRegistry snapshots =
      new SnapshotRegistry(0, () -> 0) {
        @Override
        public long visibleSequence() {
          Runnable once = beforeMoment;
          beforeMoment = () -> {};
          once.run();
          return super.visibleSequence();
        }
      };

  private final StoreReads reads =
      new StoreReads(
          epochs,
          currentState,
          snapshots,
          new ValueReader(new SegmentDirectory()),
          Engines.config(versions.storage, scheduler),
          ledger);

  private final Region source = ledger.allocate(MemoryPurpose.READ, 3);
  private final Memtable.Splice splice = new Memtable.Splice();
  private long sequence;
  private byte batches;

  ReadMomentTest() {
    currentState.start(List.of(memtable()));
  }

  @AfterEach
  void everythingIsGivenBack() {
    currentState.close();
    epochs.drain();
    epochs.free();
    source.free();
    versions.close();
  }

  private Memtable memtable() {
    return new Memtable(ledger, 512, LogPosition.START, 1);
  }

  /** Sets both keys to the number of the batch; the first one is absent half way. */
  private void writeBatch() {
    batches++;
    insert(FIRST, Tag.DELETE);
    insert(SECOND, Tag.PUT);
    currentState.addMemtable(memtable());
    insert(FIRST, Tag.PUT);
    snapshots.publish(sequence);
  }

  private void insert(byte[] key, int kind) {
    source.putByte(0, (byte) Keyspaces.DEFAULT);
    source.putByte(1, key[0]);
    source.putByte(2, batches);
    Entry entry = new Entry();
    entry.keyRegion = source;
    entry.keyLength = 2;
    entry.tag = Tag.of(++sequence, kind);
    entry.valueRegion = source;
    entry.valueOffset = 2;
    entry.valueLength = kind == Tag.PUT ? 1 : 0;
    assertTrue(currentState.get().active().insert(entry, splice));
  }

  /** What is read while the next batch is committed. */
  private byte[] expectNext() {
    beforeMoment = this::writeBatch;
    return new byte[] {(byte) (batches + 1)};
  }

  private static byte[] copy(@Nullable ByteBuffer view) {
    assertNotNull(view);
    return new byte[] {view.get(0)};
  }

  @Test
  void aLookupSeesAllOfTheBatch() {
    int key = Keyspaces.DEFAULT;
    byte[] next = expectNext();
    assertArrayEquals(next, reads.get(key, FIRST, StoreReads.LATEST));
    next = expectNext();
    assertTrue(reads.contains(key, FIRST, StoreReads.LATEST));
    assertArrayEquals(next, reads.get(key, FIRST, StoreReads.LATEST));
    expectNext();
    EntryInfo found = reads.info(key, FIRST, StoreReads.LATEST);
    assertNotNull(found);
    assertEquals(sequence, found.version());
    next = expectNext();
    assertArrayEquals(next, reads.read(key, FIRST, StoreReads.LATEST, ReadMomentTest::copy));
    next = expectNext();
    assertArrayEquals(
        next, reads.readWithInfo(key, FIRST, StoreReads.LATEST, 9, (entry, view) -> copy(view)));
    next = expectNext();
    Bytes<?> target = Bytes.allocateElasticOnHeap();
    assertEquals(1, reads.get(key, BytesStore.wrap(FIRST), target, StoreReads.LATEST));
    assertArrayEquals(next, target.toByteArray());
  }

  @Test
  void aFewKeysAreReadAsOfOneMoment() {
    checkAll(List.of(FIRST, SECOND));
  }

  @Test
  void manyKeysAreReadAsOfOneMoment() {
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i <= MultiGet.GROUP_KEYS_MAX; i++) {
      keys.add(i % 2 == 0 ? FIRST : SECOND);
    }
    checkAll(keys);
  }

  private void checkAll(List<byte[]> keys) {
    byte[] next = expectNext();
    for (byte @Nullable [] value : reads.getAll(Keyspaces.DEFAULT, keys, StoreReads.LATEST)) {
      assertArrayEquals(next, value);
    }
  }

  @Test
  void aCursorSeesOneMoment() {
    byte[] next = expectNext();
    try (SnapshotCursor cursor = reads.cursor(ALL, StoreReads.LATEST)) {
      check(cursor, next);
    }
    next = expectNext();
    try (PinnedReadState moment = reads.moment();
        SnapshotCursor cursor = reads.cursor(moment, ALL, StoreReads.EVERYTHING)) {
      check(cursor, next);
    }
  }

  private static void check(SnapshotCursor cursor, byte[] expected) {
    for (byte[] key : new byte[][] {FIRST, SECOND}) {
      assertTrue(cursor.next());
      assertArrayEquals(key, cursor.key());
      assertArrayEquals(expected, cursor.value());
    }
  }

  /** There is no epoch in which it would be waited for. */
  @Test
  void closingWaitsForACallThatIsAboutToHoldItsView() throws InterruptedException {
    writeBatch();
    List<byte[]> keys = Collections.nCopies(MultiGet.GROUP_KEYS_MAX + 1, FIRST);
    boolean[] waits = new boolean[1];
    Thread closer =
        new Thread(
            () -> {
              currentState.close();
              reads.closeCursors();
            });
    beforeMoment =
        () -> {
          closer.start();
          Parked.await(List.of(closer));
          waits[0] = closer.isAlive();
        };
    assertThrows(
        StoreClosedException.class, () -> reads.getAll(Keyspaces.DEFAULT, keys, StoreReads.LATEST));
    closer.join();
    assertTrue(waits[0], "closed while a view was held");
  }

  /** Its commit is under way: there is an entry that is not visible yet. */
  @Test
  void whatATransactionDoesNotSeeIsBehindItsMark() {
    writeBatch();
    beforeMoment = () -> insert(SECOND, Tag.PUT);
    MemtableHighWater.MarkedSnapshot start = reads.begin();
    assertEquals(sequence - 1, start.hold().sequence());
    MemtableHighWater mark = start.mark();
    assertNotNull(mark);
    ReadState readState = currentState.get();
    assertTrue(
        mark.anySince(
            readState,
            mark.indexIn(readState),
            (arena, offset, length, tag) -> Tag.sequence(tag) == sequence));
    reads.releaseSnapshot(start.hold());
  }
}
