package io.kvsep.internal.backup;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.CrashPromise.Found;
import io.kvsep.internal.engine.OptionSet;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TrackedStore;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a checkpoint holds, and that it and its store leave each other alone. */
final class CheckpointTest {
  private static final List<Step> STEPS =
      Arrays.stream(Step.values())
          .filter(step -> !step.reads() && step != Step.KILL && step != Step.REOPEN)
          .toList();

  private static StorageEngine open(Storage storage) {
    return Engines.open(storage, new ManualScheduler(3, 2));
  }

  /** Copies at many moments; all of them are looked at when the store has gone on and is closed. */
  @Test
  void aCopyHoldsWhatTheStoreHeldAndKeepsIt() {
    Seeds.run(
        CheckpointTest.class,
        "aCopyHoldsWhatTheStoreHeldAndKeepsIt",
        1,
        Integer.getInteger("kvsep.seeds", 30),
        seed -> {
          Random random = new Random(seed);
          OptionSet options = OptionSet.values()[random.nextInt(OptionSet.values().length)];
          CrashableStorage storage = new CrashableStorage();
          storage.linksFiles(random.nextInt(4) > 0);
          TrackedStore store = new TrackedStore(storage, options);
          store.open();
          List<Found> expected = new ArrayList<>();
          for (int i = 0; i < 60; i++) {
            assertTrue(store.run(STEPS.get(random.nextInt(STEPS.size()))));
            if (random.nextInt(10) == 0) {
              Path target = Path.of("copy-" + expected.size());
              assertTrue(store.maintain(engine -> engine.backups().checkpoint(target)));
              expected.add(Found.in(store.engine()));
              if (random.nextBoolean()) {
                live(storage, target.toString(), expected.get(expected.size() - 1));
              }
            }
          }
          store.checkReads();
          assertEquals(List.of(), store.engine().verify().problems());
          assertTrue(store.close());
          CrashableStorage left = storage.crashSyncedOnly();
          for (int i = 0; i < expected.size(); i++) {
            check(left, "copy-" + i, expected.get(i), store.nowMillis());
          }
        });
  }

  /** Opens a copy and changes all of it, beside the open store, and puts it back as it was. */
  private static void live(CrashableStorage storage, String name, Found expected) {
    String extra = "an entry of the copy alone";
    try (StorageEngine copy = open(storage.directory(name))) {
      BatchWrites buffer = new BatchWrites();
      for (int i = 0; i < 50; i++) {
        buffer.put(0, (extra + i).getBytes(UTF_8), new byte[300], 0);
      }
      copy.writes().write(buffer, null);
      copy.compact();
      copy.reclaim();
      assertEquals(List.of(), copy.verify().problems());
      copy.writes().deleteRange(0, extra.getBytes(UTF_8), (extra + "~").getBytes(UTF_8));
      copy.flush();
      assertEquals(expected.names(), Found.in(copy).names());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void check(CrashableStorage storage, String name, Found expected, long nowMillis) {
    try (StorageEngine copy = open(storage.directory(name))) {
      assertEquals(List.of(), copy.verify().problems());
      Found found = Found.in(copy);
      assertEquals(expected.content().text(nowMillis), found.content().text(nowMillis));
      assertEquals(expected.names(), found.names());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aNameThatIsTakenIsRefusedBeforeAnythingIsDone() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = open(storage)) {
      engine.writes().put(0, new byte[] {1}, new byte[] {2}, 0);
      engine.backups().checkpoint(Path.of("copy"));
      engine.writes().put(0, new byte[] {1}, new byte[] {3}, 0);
      storage.clearTrace();
      StorageException refused =
          assertThrows(StorageException.class, () -> engine.backups().checkpoint(Path.of("copy")));

      assertTrue(refused.getCause() instanceof FileAlreadyExistsException);
      assertEquals(List.of(), storage.trace());
    }
  }

  @Test
  void filesAreLinkedAndOnlyWhatMemtablesHoldIsWritten() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = open(storage)) {
      for (int i = 0; i < 20; i++) {
        engine.writes().put(0, new byte[] {(byte) i}, new byte[1_000], 0);
      }
      engine.flush();
      engine.writes().put(0, new byte[] {1}, new byte[] {3}, 0);
      long used = storage.usedBytes();
      storage.clearTrace();
      engine.backups().checkpoint(Path.of("copy"));

      assertTrue(storage.usedBytes() - used < 4_000, "more than a table and manifests was written");
      assertEquals(
          1, storage.trace().stream().filter(line -> line.matches("create .*\\.sst")).count());
      for (String suffix : List.of(".vlog", ".sst")) {
        String what = "link [0-9]+\\" + suffix + " .*";
        assertTrue(storage.trace().stream().anyMatch(line -> line.matches(what)), suffix);
      }
    }
  }

  @Test
  void twoCheckpointsWithNothingBetweenEndNoSegment() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = open(storage)) {
      engine.writes().put(0, new byte[] {1}, new byte[] {2}, 0);
      engine.backups().checkpoint(Path.of("first"));
      int segments = engine.stats().logSegments();
      engine.backups().checkpoint(Path.of("second"));

      assertEquals(segments, engine.stats().logSegments());
    }
  }

  @Test
  void aStoreThatIsOpenForReadingOnlyMakesNone() {
    CrashableStorage storage = new CrashableStorage();
    open(storage).close();
    CrashableStorage left = storage.crashKeepingAll();
    EngineConfig config = Engines.config(left, new ManualScheduler(3, 2));
    try (StorageEngine engine = StorageEngine.open(ConfigDraft.of(config).readOnly(true).build())) {
      assertThrows(
          ReadOnlyStoreException.class, () -> engine.backups().checkpoint(Path.of("copy")));
      assertEquals(List.of(), left.directories());
    }
  }

  /**
   * Writers beside checkpoints. Each commit says how many of each writer were acknowledged before
   * it began, so a copy that has it must have those: it is a cut that some order of the commits
   * explains, with no hole. And it has all that were acknowledged before the checkpoint began.
   */
  @Test
  @Timeout(120)
  void underLoadACopyHoldsAPrefixOfTheCommits() throws Exception {
    int writers = 3;
    CrashableStorage storage = new CrashableStorage();
    AtomicLongArray acknowledged = new AtomicLongArray(writers);
    AtomicBoolean stopped = new AtomicBoolean();
    EngineConfig config = Engines.config(storage, new ThreadScheduler(2));
    List<long[]> before = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(writers);
    try (StorageEngine engine = StorageEngine.open(config)) {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < writers; i++) {
        int writer = i;
        running.add(threads.submit(() -> write(engine, writer, acknowledged, stopped)));
      }
      while (before.size() < 12) {
        long[] done = new long[writers];
        for (int i = 0; i < writers; i++) {
          done[i] = acknowledged.get(i);
        }
        engine.backups().checkpoint(Path.of("copy-" + before.size()));
        before.add(done);
        awaitCommits(acknowledged, 200L * before.size());
      }
      stopped.set(true);
      for (Future<?> writer : running) {
        writer.get();
      }
    } finally {
      stopped.set(true);
      threads.shutdown();
    }
    CrashableStorage left = storage.crashSyncedOnly();
    long found = 0;
    for (int i = 0; i < before.size(); i++) {
      try (StorageEngine copy = open(left.directory("copy-" + i))) {
        assertEquals(List.of(), copy.verify().problems());
        found = checkCut(copy, before.get(i));
      }
    }
    assertTrue(found > 0, "nothing was written");
  }

  private static void write(
      StorageEngine engine, int writer, AtomicLongArray acknowledged, AtomicBoolean stopped) {
    for (int n = 0; !stopped.get() && n < 3_000; n++) {
      ByteBuffer known = ByteBuffer.allocate(acknowledged.length() * 8 + 100 * (n % 5));
      for (int i = 0; i < acknowledged.length(); i++) {
        known.putLong(acknowledged.get(i));
      }
      BatchWrites batch = new BatchWrites();
      batch.put(0, key(writer, n, 'a'), known.array(), 0);
      batch.put(0, key(writer, n, 'b'), known.array(), 0);
      engine.writes().write(batch, null);
      acknowledged.incrementAndGet(writer);
    }
  }

  private static void awaitCommits(AtomicLongArray acknowledged, long wanted) {
    long sum = 0;
    while (sum < wanted) {
      Thread.onSpinWait();
      sum = 0;
      for (int i = 0; i < acknowledged.length(); i++) {
        sum += acknowledged.get(i);
      }
    }
  }

  private static byte[] key(int writer, int n, char half) {
    return String.format("%d/%06d/%c", writer, n, half).getBytes(UTF_8);
  }

  /** The number of commits in it. */
  private static long checkCut(StorageEngine copy, long[] atLeast) {
    long[] counts = new long[atLeast.length];
    long[] needed = atLeast.clone();
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    try (SnapshotCursor cursor = copy.reads().cursor(all, StoreReads.LATEST)) {
      while (cursor.next()) {
        String key = new String(cursor.key(), UTF_8);
        int writer = key.charAt(0) - '0';
        ByteBuffer known = ByteBuffer.wrap(cursor.value());
        for (int i = 0; i < needed.length; i++) {
          needed[i] = Math.max(needed[i], known.getLong());
        }
        boolean first = key.endsWith("a");
        assertEquals(
            new String(key(writer, (int) (counts[writer] / 2), first ? 'a' : 'b'), UTF_8), key);
        counts[writer]++;
      }
    }
    long sum = 0;
    for (int i = 0; i < counts.length; i++) {
      assertEquals(0, counts[i] % 2, "half a batch");
      assertTrue(counts[i] / 2 >= needed[i], "a hole: " + counts[i] / 2 + " of " + needed[i]);
      sum += counts[i] / 2;
    }
    return sum;
  }
}
