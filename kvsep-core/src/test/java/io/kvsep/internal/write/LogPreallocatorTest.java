package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.error.StorageException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The active segment is longer than what is in it, and nobody takes the difference for data. */
final class LogPreallocatorTest {
  private static final int ROOM_BYTES = 6 << 10;

  private static final int PIECE_BYTES = 256;
  private static final int LEAD_BYTES = 4 * PIECE_BYTES;
  private static final int SEGMENT_BYTES = 32 << 10;
  private static final int VALUE_BYTES = 1000;

  /** What stands behind the last frame of a segment that is complete. */
  private static final int END_BYTES = 32;

  private static final int STATES_MAX = 200;

  /** Two are enough for room; these do not use two thirds of it up. */
  private static final int SOME = 4;

  private static final Pattern READ = Pattern.compile("read (\\S+) (\\d+)\\+(\\d+)");

  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler = new ManualScheduler(1, 1);
  private StorageEngine engine = open(storage);
  private int written;

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  @Test
  void theActiveSegmentHasRoomOnceItHoldsSomething() throws IOException {
    put(1);
    assertEquals(publishedEnd(), fileLength());
    put(SOME - 1);
    long room = fileLength() - publishedEnd();
    assertTrue(room > 0 && room <= ROOM_BYTES, "room " + room);
    put(20);
    room = fileLength() - publishedEnd();
    assertTrue(room > 0 && room <= ROOM_BYTES, "room " + room);
    requireHeld(written);
  }

  @Test
  void theBackgroundReadsTheRoomSomeWayAheadOfTheWriter() throws IOException {
    put(SOME);
    storage.clearTrace();
    long end = publishedEnd();
    scheduler.runAll();
    List<long[]> reads = reads();
    assertTrue(!reads.isEmpty(), "nothing was read");
    long expected = end / PIECE_BYTES * PIECE_BYTES + LEAD_BYTES;
    for (long[] read : reads) {
      assertEquals(expected, read[0]);
      assertEquals(PIECE_BYTES, read[1]);
      expected += PIECE_BYTES;
    }
    assertTrue(fileLength() - expected < PIECE_BYTES, "not read to its end");
    // Nothing of it again.
    storage.clearTrace();
    put(1);
    scheduler.runAll();
    assertEquals(0, reads().size());
    // What is made later is read, too, and nothing that was written by then.
    put(3);
    end = publishedEnd();
    scheduler.runAll();
    assertTrue(!reads().isEmpty(), "nothing was read");
    for (long[] read : reads()) {
      assertTrue(read[0] >= end, "read what was written");
    }
  }

  @Test
  void aSealedSegmentHasNone() throws IOException {
    put(40);
    assertEquals(2, segments().size());
    engine.flush();
    assertEquals(sealedBytes(segments().get(0)), storage.contents(segments().get(0)).length);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
  }

  @Test
  void aClosedStoreHasNone() throws IOException {
    put(SOME);
    long end = publishedEnd();
    String segment = segments().get(0);
    engine.close();
    assertEquals(end, storage.contents(segment).length);
    reopen(storage.moment().crashSyncedOnly());
    requireHeld(written);
  }

  @Test
  void whatACrashLeavesOfItIsNoTornTail() throws IOException {
    put(SOME);
    CrashableStorage crashed = storage.moment().crashKeepingAll();
    long room = fileLength() - publishedEnd();
    assertTrue(room > 0);
    assertEquals(0, tornBytes(crashed));
    reopen(crashed);
    requireHeld(written);
    assertTrue(engine.verify().problems().isEmpty());
    put(30);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
  }

  /** Nothing is replayed, so the file stays as the crash left it. */
  @Test
  void itIsLeftBehindAFlushedLogAndWrittenOver() throws IOException {
    put(SOME);
    engine.flush();
    CrashableStorage crashed = storage.moment().crashKeepingAll();
    reopen(crashed);
    long left = fileLength();
    assertTrue(left > publishedEnd());
    put(1);
    assertEquals(left, fileLength());
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
    put(40);
    engine.flush();
    assertEquals(sealedBytes(segments().get(0)), storage.contents(segments().get(0)).length);
    requireAll(storage.moment().crashKeepingAll());
  }

  @Test
  void aTornTailInFrontOfItIsCutOffWithIt() throws IOException {
    put(SOME);
    long before = publishedEnd();
    put(1);
    CrashableStorage crashed = storage.moment().crashKeepingAll();
    String segment = segments().get(0);
    byte[] contents = crashed.contents(segment);
    // Half of the last frame never came to the device.
    long from = before + (publishedEnd() - before) / 2;
    Arrays.fill(contents, (int) from, (int) publishedEnd(), (byte) 0);
    crashed.replace(segment, contents);
    long torn = tornBytes(crashed);
    assertTrue(torn > 0 && torn <= from - before, "torn " + torn);
    reopen(crashed);
    requireHeld(written - 1);
    assertNull(get(written - 1));
    assertTrue(engine.verify().problems().isEmpty());
  }

  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"EIO", "ENOSPC", "SHORT_WRITE", "LATE_EIO"})
  void aFailedWriteIsCutOffWithTheRoom(Fault fault) throws IOException {
    put(SOME);
    storage.failNext(fault, operation -> operation == Operation.WRITE);
    assertThrows(StorageException.class, () -> put(1));
    assertNull(get(written));
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
    requireAll(storage.moment().crashSyncedOnly());
    put(30);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
  }

  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"EIO", "ENOSPC", "LATE_EIO"})
  void whereThereCanBeNoneWritesGoOn(Fault fault) throws IOException {
    put(1);
    long end = publishedEnd();
    // The second write is the one that is to make room.
    storage.failAt(2, fault, /* sticky= */ false, operation -> operation == Operation.WRITE);
    put(1);
    assertTrue(publishedEnd() > end);
    put(10);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
    put(40);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
  }

  @Test
  void whereItCannotBeReadWritesGoOn() throws IOException {
    put(SOME);
    storage.failAt(1, Fault.EIO, /* sticky= */ true, operation -> operation == Operation.READ);
    scheduler.runAll();
    storage.clearFaults();
    put(30);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
  }

  @Test
  void whereItCannotBeCutOffItIsNoData() throws IOException {
    put(SOME);
    storage.failAt(1, Fault.EIO, /* sticky= */ true, operation -> operation == Operation.TRUNCATE);
    put(40);
    engine.flush();
    String first = segments().get(0);
    assertTrue(storage.contents(first).length > sealedBytes(first));
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll());
    CrashableStorage closed = storage;
    engine.close();
    reopen(closed.crashSyncedOnly());
    requireHeld(written);
    assertTrue(engine.verify().problems().isEmpty());
  }

  @Test
  void aCheckpointHasNone() throws IOException {
    put(SOME);
    long end = publishedEnd();
    engine.copies().checkpoint(Path.of("copy"));
    for (String name : storage.directories()) {
      CrashableStorage copy = storage.detached(name);
      for (String file : copy.list()) {
        if (StoreFiles.kindOf(file) == StoreFiles.Kind.SEGMENT) {
          assertTrue(copy.contents(file).length <= end + END_BYTES, file);
        }
      }
      requireAll(copy);
    }
    assertEquals(1, storage.directories().size());
  }

  /** All states that a power failure may leave, or some, with room in one segment. */
  @Test
  void whateverPowerLossLeavesIsAPrefix() throws IOException {
    put(SOME);
    engine.sync();
    int synced = written;
    put(2);
    scheduler.runAll();
    requirePrefixes(synced);
  }

  /** The same with a failed write in between, which takes the room with it. */
  @Test
  void whateverPowerLossLeavesBehindAFailedWriteIsAPrefix() throws IOException {
    put(SOME);
    storage.failNext(Fault.SHORT_WRITE, operation -> operation == Operation.WRITE);
    assertThrows(StorageException.class, () -> put(1));
    int synced = written;
    put(2);
    assertTrue(fileLength() > publishedEnd());
    requirePrefixes(synced);
  }

  /** The same where the log has gone on in another segment, and nothing of that is synced. */
  @Test
  void whateverPowerLossLeavesOfTwoSegmentsIsAPrefix() throws IOException {
    put(25);
    engine.sync();
    int synced = written;
    while (segments().size() < 2) {
      put(1);
    }
    put(SOME);
    assertTrue(fileLength() > publishedEnd());
    requirePrefixes(synced);
  }

  private void requirePrefixes(int synced) throws IOException {
    int states = 0;
    for (CrashableStorage state : storage.moment().crashStates(STATES_MAX)) {
      CrashableStorage again;
      int held;
      ManualScheduler own = new ManualScheduler(2, 1);
      try (StorageEngine other = StorageEngine.open(config(state, own))) {
        held = requirePrefix(other, "state " + states);
        assertTrue(held >= synced, "state " + states + " holds " + held);
        again = state.moment().crashSyncedOnly();
      }
      try (StorageEngine other = StorageEngine.open(config(again, new ManualScheduler(2, 1)))) {
        assertEquals(held, requirePrefix(other, "state " + states + ", a second time"));
      }
      states++;
    }
    assertTrue(states > 10, states + " states");
  }

  private int requirePrefix(StorageEngine other, String state) {
    int held = 0;
    while (held < written && other.reads().get(0, key(held), StoreReads.LATEST) != null) {
      assertArrayEquals(value(held), other.reads().get(0, key(held), StoreReads.LATEST), state);
      held++;
    }
    for (int i = held; i < written; i++) {
      assertNull(other.reads().get(0, key(i), StoreReads.LATEST), state);
    }
    return held;
  }

  private static EngineConfig config(CrashableStorage from, ManualScheduler by) {
    return ConfigDraft.of(Engines.config(from, by))
        .segmentBytes(SEGMENT_BYTES)
        .shape(Engines.withRoom(ROOM_BYTES))
        .build();
  }

  private StorageEngine open(CrashableStorage from) {
    return StorageEngine.open(config(from, scheduler));
  }

  private void reopen(CrashableStorage from) {
    engine.close();
    scheduler = new ManualScheduler(1, 1);
    storage = from;
    engine = open(from);
  }

  private void put(int count) {
    for (int i = 0; i < count; i++) {
      engine.writes().put(0, key(written), value(written), 0);
      written++;
    }
  }

  private byte @Nullable [] get(int number) {
    return engine.reads().get(0, key(number), StoreReads.LATEST);
  }

  private void requireHeld(int count) {
    for (int i = 0; i < count; i++) {
      assertArrayEquals(value(i), get(i), "entry " + i);
    }
  }

  /** Another engine finds everything there. */
  private void requireAll(CrashableStorage crashed) {
    ManualScheduler own = new ManualScheduler(2, 1);
    try (StorageEngine other = StorageEngine.open(config(crashed, own))) {
      for (int i = 0; i < written; i++) {
        assertArrayEquals(value(i), other.reads().get(0, key(i), StoreReads.LATEST), "entry " + i);
      }
      assertTrue(other.verify().problems().isEmpty());
    }
  }

  private static long tornBytes(CrashableStorage crashed) {
    ManualScheduler own = new ManualScheduler(2, 1);
    try (StorageEngine other =
        StorageEngine.open(
            ConfigDraft.of(config(crashed.moment(), own)).readOnly(/* readOnly= */ true).build())) {
      return other.stats().tornBytes();
    }
  }

  /** Of the last segment of the log. */
  private long publishedEnd() {
    List<SegmentStats> files = engine.segments();
    return files.get(files.size() - 1).bytes();
  }

  private long sealedBytes(String name) {
    return engine.segments().stream()
        .filter(file -> file.file().equals(name))
        .findFirst()
        .orElseThrow()
        .bytes();
  }

  private long fileLength() throws IOException {
    List<String> all = segments();
    return storage.contents(all.get(all.size() - 1)).length;
  }

  private List<String> segments() throws IOException {
    return storage.list().stream()
        .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT)
        .sorted()
        .toList();
  }

  /** Offsets and lengths of reads of the log. */
  private List<long[]> reads() {
    List<long[]> all = new ArrayList<>();
    for (String line : storage.trace()) {
      Matcher read = READ.matcher(line);
      if (read.matches() && StoreFiles.kindOf(read.group(1)) == StoreFiles.Kind.SEGMENT) {
        all.add(new long[] {Long.parseLong(read.group(2)), Long.parseLong(read.group(3))});
      }
    }
    return all;
  }

  private static byte[] key(int number) {
    return String.format("key %08d", number).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] value(int number) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(number).nextBytes(value);
    return value;
  }
}
