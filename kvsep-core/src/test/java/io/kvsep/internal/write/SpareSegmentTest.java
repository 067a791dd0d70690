package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The log goes on in a segment that was made ahead of need, and ends in itself. */
final class SpareSegmentTest {
  private static final int SEGMENT_BYTES = 8 << 10;
  private static final int VALUE_BYTES = 1000;

  /** As many entries as a segment takes. */
  private static final int PER_SEGMENT = 7;

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
  void goingOnInASpareTakesNoSync() throws IOException {
    put(PER_SEGMENT);
    assertEquals(1, segments().size());
    scheduler.runAll();
    assertEquals(2, segments().size());
    storage.clearTrace();
    put(1);
    assertEquals(List.of(), storage.trace().stream().filter(at -> at.contains("sync")).toList());
    assertEquals(2, segments().size());
    put(3 * PER_SEGMENT);
    requireAll(storage.moment().crashKeepingAll(), written);
  }

  @Test
  void aShortLogHasNone() throws IOException {
    put(1);
    scheduler.runAll();
    assertEquals(1, segments().size());
  }

  @Test
  void whereTheBackgroundIsLateWritersMakeTheNextSegment() throws IOException {
    put(3 * PER_SEGMENT);
    assertEquals(3, segments().size());
    requireAll(storage.moment().crashKeepingAll(), written);
    // A thread that comes too late does not make another one.
    scheduler.runAll();
    assertEquals(4, segments().size());
    scheduler.runAll();
    assertEquals(4, segments().size());
  }

  @Test
  void aSpareIsUsedAfterACrash() throws IOException {
    put(PER_SEGMENT);
    scheduler.runAll();
    List<String> before = segments();
    reopen(storage.moment().crashKeepingAll());
    assertEquals(before, segments());
    requireHeld(written);
    put(1);
    assertEquals(before, segments());
    requireHeld(written);
    assertTrue(engine.verify().problems().isEmpty());
  }

  @Test
  void aClosedStoreHasNone() throws IOException {
    put(PER_SEGMENT);
    scheduler.runAll();
    assertEquals(2, segments().size());
    engine.close();
    reopen(storage.moment().crashSyncedOnly());
    assertEquals(1, segments().size());
    requireHeld(written);
    put(PER_SEGMENT);
    requireHeld(written);
  }

  @Test
  void aSpareDoesNotHideATornTail() throws IOException {
    put(PER_SEGMENT);
    scheduler.runAll();
    CrashableStorage crashed = storage.moment().crashKeepingAll();
    cut(crashed, segments().get(0), 10);
    reopen(crashed);
    requireHeld(written - 1);
    assertNull(get(written - 1));
    assertEquals(1, segments().size());
  }

  /** What a later segment holds was written after what is gone. */
  @Test
  void withoutItsEndASegmentIsTheLast() throws IOException {
    put(PER_SEGMENT);
    scheduler.runAll();
    put(3);
    CrashableStorage crashed = storage.moment().crashKeepingAll();
    cut(crashed, segments().get(0), 1);
    reopen(crashed);
    requireHeld(PER_SEGMENT);
    assertNull(get(PER_SEGMENT));
    assertEquals(1, segments().size());
    assertTrue(engine.verify().problems().isEmpty());
  }

  @Test
  void anEndThatWasSyncedAndIsGoneIsDamage() throws IOException {
    put(PER_SEGMENT);
    scheduler.runAll();
    put(1);
    engine.sync();
    put(1);
    CrashableStorage crashed = storage.moment().crashKeepingAll();
    String first = segments().get(0);
    cut(crashed, first, 1);
    CorruptionException damage = assertThrows(CorruptionException.class, () -> open(crashed));
    assertEquals(first, damage.file());
  }

  @Test
  void aFlushSealsWhatIsNotReplayedAnyMore() throws IOException {
    put(2 * PER_SEGMENT + 2);
    engine.flush();
    put(1);
    engine.sync();
    reopen(storage.moment().crashSyncedOnly());
    requireHeld(written);
    assertTrue(engine.verify().problems().isEmpty());
  }

  /**
   * The manifest has the seals of a checkpoint before the sync that makes what they seal durable.
   */
  @Test
  void whatIsSealedBehindATornPlaceIsNoDamage() throws IOException {
    put(3 * PER_SEGMENT);
    scheduler.runAll();
    List<CrashableStorage> beforeSync = new ArrayList<>();
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> {
          if (operation == Operation.SYNC
              && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT
              && beforeSync.isEmpty()) {
            beforeSync.add(storage.moment());
          }
          return false;
        });
    engine.backups().checkpoint(Path.of("copy"));
    storage.clearFaults();
    CrashableStorage crashed = beforeSync.get(0).crashSyncedOnly();

    EngineConfig config = Engines.config(crashed, new ManualScheduler(2, 1));
    try (StorageEngine reader = StorageEngine.open(ConfigDraft.of(config).readOnly(true).build())) {
      assertTrue(reader.stats().tornBytes() > 0);
      assertEquals(List.of(), reader.verify().problems());
    }
    reopen(crashed.crashKeepingAll());
    assertEquals(List.of(), engine.verify().problems());
    assertEquals(1, segments().size());
  }

  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"EIO", "ENOSPC", "SHORT_WRITE", "LATE_EIO"})
  void whereNoEndCouldBeWrittenTheManifestSealsTheSegment(Fault fault) throws IOException {
    put(PER_SEGMENT);
    scheduler.runAll();
    String first = segments().get(0);
    storage.failAt(
        1, fault, false, (operation, name) -> operation == Operation.WRITE && name.equals(first));
    assertThrows(StorageException.class, () -> put(1));
    requireAll(storage.moment().crashKeepingAll(), written);
    put(2);
    requireHeld(written);
    requireAll(storage.moment().crashKeepingAll(), written);
    engine.sync();
    requireAll(storage.moment().crashSyncedOnly(), written);
  }

  @Test
  void writersHearOfItOnlyWhenTheyNeedTheSegment() throws IOException {
    put(PER_SEGMENT / 2);
    storage.failAt(
        1, Fault.ENOSPC, /* sticky= */ true, (operation, name) -> operation == Operation.CREATE);
    scheduler.runAll();
    put(PER_SEGMENT - PER_SEGMENT / 2);
    scheduler.runAll();
    assertThrows(StorageException.class, () -> put(1));
    requireHeld(written);
    storage.clearFaults();
    put(PER_SEGMENT);
    requireAll(storage.moment().crashKeepingAll(), written);
  }

  /** Wherever the manifest fails while an empty store gives its files back. */
  @Test
  void aSpareThatCouldNotBeRemovedTakesNothingWithIt() throws IOException {
    int failed = 0;
    for (int nth = 1; nth <= 30; nth++) {
      reopen(new CrashableStorage());
      written = 0;
      put(PER_SEGMENT);
      scheduler.runAll();
      for (int i = 0; i < written; i++) {
        engine.writes().delete(0, key(i));
      }
      failOnce(nth, Fault.EIO, StoreFiles.Kind.MANIFEST);
      try {
        engine.compact();
      } catch (StorageException e) {
        failed++;
      }
      storage.clearFaults();
      written = 0;
      put(2);
      engine.sync();
      requireAll(storage.moment().crashSyncedOnly(), written);
      put(3 * PER_SEGMENT);
      requireAll(storage.moment().crashKeepingAll(), written);
    }
    assertTrue(failed > 2, failed + " calls failed");
  }

  /** The segment may end with the word that the log goes on behind it. */
  @Test
  void aSpareStaysBehindASegmentWhoseEndIsUncertain() throws IOException {
    int failed = 0;
    for (int nth = 1; nth <= 10; nth++) {
      reopen(new CrashableStorage());
      written = 0;
      put(PER_SEGMENT);
      scheduler.runAll();
      failOnce(1, Fault.LATE_EIO, StoreFiles.Kind.SEGMENT);
      int acknowledged = written;
      assertThrows(StorageException.class, () -> put(1));
      failOnce(nth, Fault.EIO, StoreFiles.Kind.MANIFEST);
      try {
        engine.close();
      } catch (StorageException e) {
        failed++;
      }
      storage.clearFaults();
      reopen(storage.moment().crashKeepingAll());
      requireHeld(acknowledged);
      put(PER_SEGMENT);
      requireHeld(written);
    }
    assertTrue(failed > 1, failed + " calls failed");
  }

  private void failOnce(int nth, Fault fault, StoreFiles.Kind kind) {
    storage.failAt(
        nth,
        fault,
        /* sticky= */ false,
        (operation, name) -> operation == Operation.WRITE && StoreFiles.kindOf(name) == kind);
  }

  private StorageEngine open(CrashableStorage from) {
    return StorageEngine.open(
        ConfigDraft.of(Engines.config(from, scheduler)).segmentBytes(SEGMENT_BYTES).build());
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
  private void requireAll(CrashableStorage crashed, int count) {
    ManualScheduler own = new ManualScheduler(2, 1);
    try (StorageEngine other =
        StorageEngine.open(
            ConfigDraft.of(Engines.config(crashed, own)).segmentBytes(SEGMENT_BYTES).build())) {
      for (int i = 0; i < count; i++) {
        byte[] found = other.reads().get(0, key(i), StoreReads.LATEST);
        assertNotNull(found, "entry " + i);
        assertArrayEquals(value(i), found, "entry " + i);
      }
      assertTrue(other.verify().problems().isEmpty());
    }
  }

  private List<String> segments() throws IOException {
    return storage.list().stream()
        .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT)
        .sorted()
        .toList();
  }

  private static void cut(CrashableStorage crashed, String name, int bytes) throws IOException {
    byte[] contents = crashed.contents(name);
    crashed.replace(name, Arrays.copyOf(contents, contents.length - bytes));
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
