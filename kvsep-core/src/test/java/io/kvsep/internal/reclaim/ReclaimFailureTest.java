package io.kvsep.internal.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.ReclaimReport;
import io.kvsep.SegmentStats;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** A reclaim that fails leaves nothing behind, and does not keep others from their work. */
final class ReclaimFailureTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int KEYS = 300;

  private CrashableStorage storage = new CrashableStorage();
  private final Random random = new Random(5);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);

  /** Refuses what the test says. */
  private static final class Refusing extends ForwardingStorage {
    private final Set<String> unreadable = new HashSet<>();
    private final Set<String> refused = new HashSet<>();
    private boolean full;
    private int directorySyncs = Integer.MAX_VALUE;

    Refusing(CrashableStorage storage) {
      super(storage);
    }

    @Override
    public StorageFile create(String name) throws IOException {
      if (full && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
        throw new IOException("No space left on device");
      }
      return super.create(name);
    }

    @Override
    public StorageFile open(String name, boolean writable) throws IOException {
      if (unreadable.contains(name)) {
        refused.add(name);
        throw new IOException("Input/output error");
      }
      return super.open(name, writable);
    }

    @Override
    public void syncDirectory() throws IOException {
      if (--directorySyncs == 0) {
        throw new IOException("refused");
      }
      super.syncDirectory();
    }
  }

  private StorageEngine open(Refusing refusing) {
    return open(refusing, 16 << 10);
  }

  private StorageEngine open(Storage on, long outputBytesMax) {
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base = Engines.config(on, scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, outputBytesMax);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build());
  }

  private void close(StorageEngine engine) {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    storage = storage.crashKeepingAll();
  }

  private void put(StorageEngine engine, int index) {
    String key = String.format("key-%04d", index);
    byte[] value = new byte[200];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    model.put(key, value);
  }

  /** Each file of the log has some of every kind of key. */
  private void fill(StorageEngine engine) {
    for (int i = 0; i < 2 * KEYS; i++) {
      put(engine, i % KEYS);
    }
    engine.flush();
  }

  /** Only every other key, so that the others stay where they are. */
  private void overwrite(StorageEngine engine, int writes) {
    for (int i = 0; i < writes; i++) {
      put(engine, 2 * random.nextInt(KEYS / 2));
      if (i % 20 == 0) {
        scheduler.tick();
        scheduler.runAll();
      }
    }
  }

  private void checkAll(StorageEngine engine) {
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      byte[] found = engine.reads().get(0, key, StoreReads.LATEST);
      assertArrayEquals(entry.getValue(), found, entry.getKey());
    }
  }

  private static long logBytes(StorageEngine engine) {
    return engine.segments().stream().mapToLong(SegmentStats::bytes).sum();
  }

  /** A file of the log in which much is live. */
  private static String fullFile(StorageEngine engine) {
    List<String> names = new ArrayList<>();
    for (SegmentStats file : engine.segments()) {
      if (!file.relocated() && file.liveBytes() > 4096) {
        names.add(file.file());
      }
    }
    return names.get(names.size() - 2);
  }

  @Test
  void aFailedSyncOfTheDirectoryLeavesNoFile() {
    int failed = 0;
    for (int sync = 1; sync < 12; sync++) {
      storage = new CrashableStorage();
      model.clear();
      Refusing refusing = new Refusing(storage);
      StorageEngine engine = open(refusing);
      fill(engine);
      engine.compact();
      for (int i = 0; i < KEYS; i += 2) {
        put(engine, i);
      }
      refusing.directorySyncs = sync;
      try {
        engine.reclaim();
      } catch (KvException e) {
        failed++;
      }
      refusing.directorySyncs = Integer.MAX_VALUE;

      assertEquals(List.of(), engine.verify().unknownFiles(), "sync " + sync);
      checkAll(engine);
      try {
        close(engine);
      } catch (StoreFailedException e) {
        // It was the name of a segment of the log that could not be made durable.
        assertEquals(List.of(), storage.openFiles(), "sync " + sync);
      }
    }
    assertTrue(failed > 5, failed + " calls failed");
  }

  /** What is wrong with one file of the log. */
  private enum Trouble {
    NONE,
    HEADER,
    DEVICE
  }

  /** Length of the log after a long time of writing beside a file that cannot be read. */
  private long logBytesBeside(Trouble trouble) throws Exception {
    storage = new CrashableStorage();
    model.clear();
    random.setSeed(5);
    StorageEngine engine = open(new Refusing(storage));
    fill(engine);
    String victim = fullFile(engine);
    close(engine);
    Refusing refusing = new Refusing(storage);
    if (trouble == Trouble.HEADER) {
      byte[] bytes = storage.contents(victim);
      bytes[3] ^= 0x10;
      storage.replace(victim, bytes);
    } else if (trouble == Trouble.DEVICE) {
      refusing.unreadable.add(victim);
    }
    engine = open(refusing);
    overwrite(engine, 10_000);
    long bytes = logBytes(engine);
    List<String> damaged = trouble == Trouble.NONE ? List.of() : List.of(victim);
    List<String> named = engine.stats().reclaim().damagedFiles();
    assertTrue(named.containsAll(damaged), () -> trouble + ": " + named);
    close(engine);
    return bytes;
  }

  @Test
  void spaceOfOtherFilesComesBackBesideOneThatCannotBeRead() throws Exception {
    long sound = logBytesBeside(Trouble.NONE);
    for (Trouble trouble : List.of(Trouble.HEADER, Trouble.DEVICE)) {
      long bytes = logBytesBeside(trouble);
      assertTrue(bytes < 1.5 * sound, () -> trouble + ": " + bytes + " bytes, sound: " + sound);
    }
  }

  @Test
  void unreadableFileDoesNotTakeOthersOfItsJobWithIt() {
    StorageEngine engine = open(new Refusing(storage));
    fill(engine);
    for (int i = 0; i < KEYS; i += 2) {
      put(engine, i);
    }
    engine.flush();
    String victim = fullFile(engine);
    close(engine);
    Refusing refusing = new Refusing(storage);
    refusing.unreadable.add(victim);
    engine = open(refusing, 1 << 20);
    ReclaimReport result = null;
    int refusals = 0;
    while (result == null && refusals < 20) {
      try {
        result = engine.reclaim();
      } catch (StorageException e) {
        refusals++;
      }
    }
    assertTrue(result != null, "refused each time");
    assertEquals(List.of(victim), result.damagedFiles());
    for (SegmentStats file : engine.segments()) {
      assertTrue(file.relocated() || file.file().equals(victim), () -> file + " was not rewritten");
    }
    close(engine);
  }

  @Test
  void aFullDiskIsNotTakenForUnreadableFiles() {
    Refusing refusing = new Refusing(storage);
    StorageEngine engine = open(refusing);
    fill(engine);
    overwrite(engine, 500);
    engine.flush();
    engine.compact();
    for (int i = 0; i < KEYS; i += 2) {
      put(engine, i);
    }
    engine.flush();
    refusing.full = true;
    for (int i = 0; i < 300; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    for (int i = 0; i < 5; i++) {
      assertThrows(StorageException.class, engine::reclaim);
    }
    refusing.full = false;

    ReclaimReport result = engine.reclaim();

    assertEquals(List.of(), result.damagedFiles());
    assertTrue(result.filesRewritten() > 0, result::toString);
    checkAll(engine);
    close(engine);
  }

  @Test
  void unreadableFilesAreLeftAloneUntilTheStoreIsReopened() {
    StorageEngine engine = open(new Refusing(storage));
    fill(engine);
    for (int i = 0; i < KEYS; i += 2) {
      put(engine, i);
    }
    engine.flush();
    Set<String> all = new HashSet<>();
    engine.segments().forEach(file -> all.add(file.file()));
    close(engine);
    Refusing refusing = new Refusing(storage);
    engine = open(refusing);
    refusing.unreadable.addAll(all);
    ReclaimReport result = engine.reclaim();
    assertEquals(0, result.filesRewritten());
    assertEquals(refusing.refused, new HashSet<>(result.damagedFiles()));
    refusing.unreadable.clear();
    refusing.refused.clear();
    assertEquals(result.damagedFiles(), engine.reclaim().damagedFiles());
    close(engine);
    engine = open(new Refusing(storage));

    result = engine.reclaim();

    assertEquals(List.of(), result.damagedFiles());
    assertTrue(result.filesRewritten() > 0, result::toString);
    checkAll(engine);
    close(engine);
  }

  /** Has something done when a file of the log was deleted. */
  private static final class Deleting extends ForwardingStorage {
    private Consumer<String> behind = name -> {};

    Deleting(CrashableStorage storage) {
      super(storage);
    }

    @Override
    public void delete(String name) throws IOException {
      super.delete(name);
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
        behind.accept(name);
      }
    }
  }

  /** Readers are led to the newest file that has a record from before it is in force. */
  @Test
  void valuesAreReadWhileTheFileOfAFailedEditIsTakenAway() {
    int checks = 0;
    // Some are of compactions that come before, or the marks behind an edit.
    for (int write = 1; write <= 60; write++) {
      storage = new CrashableStorage();
      model.clear();
      checks += checksWhileAnEditFails(write);
    }
    assertTrue(checks > 0);
  }

  /** How often all was read just behind the deletion of a file that the job has made. */
  private int checksWhileAnEditFails(int write) {
    Deleting deleting = new Deleting(storage);
    StorageEngine engine = open(deleting, 1 << 20);
    // In several tables, so that some go on naming the segments that their values were written to.
    int keys = 4 * KEYS;
    for (int i = 0; i < 2 * keys; i++) {
      put(engine, i % keys);
    }
    engine.flush();
    engine.reclaim();
    for (int i = 0; i < keys; i++) {
      put(engine, i % (keys / 2));
    }
    Set<String> before = new HashSet<>();
    engine.segments().forEach(file -> before.add(file.file()));
    storage.failAt(
        write,
        Fault.ENOSPC,
        false,
        (operation, name) ->
            operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST);
    AtomicInteger checks = new AtomicInteger();
    deleting.behind =
        name -> {
          checkAll(engine);
          checks.addAndGet(before.contains(name) ? 0 : 1);
        };
    try {
      engine.reclaim();
    } catch (StorageException e) {
      String cause = String.valueOf(e.getCause());
      assertTrue(cause.contains("No space left"), cause);
    }
    deleting.behind = name -> {};
    storage.clearFaults();
    engine.reclaim();
    checkAll(engine);
    close(engine);
    return checks.get();
  }

  /**
   * Lets a file be damaged that is in use: of a mapping, a copy here, the storage knows nothing.
   */
  private static final class Spoiling extends ForwardingStorage {
    private final Map<String, ByteBuffer> mapped = new HashMap<>();

    Spoiling(CrashableStorage storage) {
      super(storage);
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      return new ForwardingFile(file) {
        @Override
        public ByteBuffer map(long length) throws IOException {
          ByteBuffer buffer = super.map(length);
          mapped.put(name(), buffer);
          return buffer;
        }
      };
    }

    /** The file is still listed, and what was mapped last of it still there. */
    void spoil(String name) {
      ByteBuffer buffer = Objects.requireNonNull(mapped.get(name));
      for (int at = 200; at < buffer.capacity(); at += 64) {
        buffer.put(at, (byte) (buffer.get(at) ^ 0x10));
      }
    }
  }

  @Test
  void aDamagedFileThatOnlyACursorKeepsStopsNothingElse() {
    Spoiling spoiling = new Spoiling(storage);
    StorageEngine engine = open(spoiling, 1 << 20);
    // In several tables, so that some go on naming the segments that their values were written to.
    int keys = 4 * KEYS;
    for (int i = 0; i < 2 * keys; i++) {
      put(engine, i % keys);
    }
    engine.flush();
    SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
    engine.reclaim();
    String kept = "";
    for (SegmentStats file : engine.segments()) {
      kept = file.pinned() ? file.file() : kept;
    }
    spoiling.spoil(kept);
    for (int i = 0; i < keys; i++) {
      put(engine, i % (keys / 2));
    }

    ReclaimReport result = engine.reclaim();

    assertEquals(List.of(kept), result.damagedFiles());
    assertTrue(result.filesRewritten() > 0, result::toString);
    cursor.close();
    scheduler.tick();
    checkAll(engine);
    close(engine);
  }
}
