package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ChangesLostException;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.repair.Repair;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Damage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Excuse;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of a damaged {@link DrawnStore}: it is opened for reading, repaired into another
 * store, and opened for writing with all that maintains a store, and again. Each time it is read in
 * every way, and nothing that was readable may be so no longer.
 *
 * <p>What is found has to be one of the states that the store was in, none older than what the
 * manifest knows to be durable; whatever is not, ends with an error that the damage excuses. Where
 * the damage is forged no check can tell what is right: then only errors of other kinds, endless
 * loops, too much memory, and changes by those that have to leave the files alone are faults. Not
 * thread safe.
 */
final class DamageTrial {
  private static final byte[] NEW_KEY = "zzz".getBytes(UTF_8);
  private static final byte[] NEW_VALUE = new byte[500];
  private static final long MEMORY_BYTES_MAX = 16 << 20;

  private final DrawnStore sound;
  private final Damage damage;
  private final Excuse excuse;

  /** Whether what is found can be compared with what has to be there. */
  private final boolean judges;

  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);

  /** What the last opening found in the end; null before one that was not refused. */
  private @Nullable ReadStore known;

  /** How often a store was refused, and how often one had something that could not be read. */
  int refused;

  int unreadable;

  DamageTrial(DrawnStore sound, Damage damage) {
    this.sound = sound;
    this.damage = damage;
    Excuse touched = Excuse.of(damage.touched());
    excuse = damage.forged() ? Excuse.ofForged(damage.touched()) : touched;
    // No log tells of a bulk load whose edit is lost with all behind it.
    judges = !damage.forged() && !(sound.bulkLoaded && touched.anyFile());
  }

  void run() {
    place();
    boolean readable = open(storage, /* readOnly= */ true, this::onlyRead);
    requireUnchanged("reading");
    place();
    repair();
    place();
    boolean writable = open(storage, /* readOnly= */ false, this::use);
    if (!writable) {
      requireUnchanged("a refused opening");
    }
    if (!damage.forged()) {
      assertEquals(readable, writable, "opens for reading, and for writing");
    }
    if (writable) {
      reopen();
    }
  }

  private void place() {
    storage = CrashableStorage.holding(new TreeMap<>(damage.files()));
  }

  private void requireUnchanged(String by) {
    assertTrue(Damage.sameFiles(damage.files(), DrawnStore.files(storage)), "changed by " + by);
  }

  /** Whether it opened. Closing and memory are looked after. */
  private boolean open(CrashableStorage on, boolean readOnly, Consumer<KvStore> work) {
    scheduler = new ManualScheduler(1, 2);
    KvStore store;
    try {
      store =
          new OpenStore(StorageEngine.open(sound.config(on, scheduler, new Random(5), readOnly)));
    } catch (CorruptionException | IncompatibleFormatException e) {
      excuse.require(e);
      assertEquals(List.of(), on.openFiles(), "open files after a refused opening");
      refused++;
      return false;
    }
    long peak;
    try {
      work.accept(store);
    } finally {
      peak = store.stats().memoryPeakBytes();
      excuse.bears(store::close);
    }
    assertTrue(peak <= MEMORY_BYTES_MAX, () -> peak + " bytes of memory");
    assertEquals(List.of(), on.openFiles(), "open files after close");
    return true;
  }

  private ReadStore read(KvStore store) {
    ReadStore read = new ReadStore(store, sound.names, excuse, !damage.forged());
    unreadable += read.errors ? 1 : 0;
    return read;
  }

  private void onlyRead(KvStore store) {
    ReadStore read = read(store);
    requireAState(read);
    known = read;
    VerifyReport report = store.verify();
    for (VerifyReport.Problem problem : report.problems()) {
      assertTrue(!problem.file().isEmpty() && problem.offset() >= 0, problem::toString);
    }
    assertTrue(damage.forged() || !read.errors || !report.isSound(), "verify sees nothing");
    excuse.bears(() -> store.backup(OutputStream.nullOutputStream(), 0));
    assertTrue(store.stats().entriesEstimate() >= 0 || damage.forged());
    store.segments();
  }

  private void requireAState(ReadStore read) {
    if (!judges) {
      return;
    }
    for (int i = sound.states.size() - 1; i >= sound.durable; i--) {
      if (read.matches(sound.states.get(i))) {
        return;
      }
    }
    int nearest = sound.durable;
    for (int i = 0; i < sound.states.size(); i++) {
      int count = read.mismatches(sound.states.get(i)).size();
      nearest = count < read.mismatches(sound.states.get(nearest)).size() ? i : nearest;
    }
    throw new AssertionError(
        "what is found is none of the states from "
            + sound.durable
            + " to "
            + (sound.states.size() - 1)
            + "; state "
            + nearest
            + " is but for "
            + read.mismatches(sound.states.get(nearest)));
  }

  /** All that changes the files of a store without changing what is in it. */
  private void use(KvStore store) {
    ReadStore before = read(store);
    requireAState(before);
    excuse.bears(() -> follow(store));
    boolean put = excuse.bears(() -> store.put(NEW_KEY, NEW_VALUE));
    assertTrue(put || damage.forged(), "no put");
    excuse.bears(store::flush);
    excuse.bears(store::compact);
    excuse.bears(store::reclaim);
    for (int i = 0; i < 2; i++) {
      excuse.bears(scheduler::tick);
      excuse.bears(scheduler::runAll);
    }
    ReadStore after = read(store);
    requireNothingLost(before, after, "maintenance");
    if (!damage.forged()) {
      assertArrayEquals(NEW_VALUE, store.get(NEW_KEY), "what was put just now");
    }
    excuse.bears(() -> store.checkpoint(Path.of("copy")));
    assertTrue(damage.forged() || !after.errors || !store.verify().isSound(), "verify is silent");
    known = after;
  }

  private static void follow(KvStore store) {
    try (ChangeFeed feed = store.changes(0)) {
      while (feed.poll() != null) {
        // One after the other.
      }
    } catch (ChangesLostException e) {
      // The log begins later.
    }
  }

  private void reopen() {
    storage = storage.crashKeepingAll();
    boolean again =
        open(
            storage,
            /* readOnly= */ true,
            store -> {
              ReadStore read = read(store);
              if (known != null) {
                requireNothingLost(known, read, "another opening");
              }
            });
    assertTrue(again || damage.forged(), "it opened once and does not open again");
  }

  private void requireNothingLost(ReadStore before, ReadStore after, String through) {
    if (damage.forged()) {
      return;
    }
    Set<String> lost = new TreeSet<>(after.unreadable);
    lost.removeAll(before.unreadable);
    assertEquals(Set.of(), lost, () -> "no longer readable through " + through);
    Set<String> other = before.mismatches(after.found);
    other.removeAll(before.unreadable);
    assertEquals(Set.of(), other, () -> "another value through " + through);
  }

  private void repair() {
    CrashableStorage made = new CrashableStorage();
    ManualClock clock = new ManualClock(sound.nowMillis());
    ManualScheduler work = new ManualScheduler(3, 2);
    StorageEngine target =
        StorageEngine.open(Engines.config(made, CommitSync.ON_DEMAND, clock, new Random(3), work));
    MemoryLedger ledger = new MemoryLedger();
    try {
      RepairReport result =
          Repair.run(
              new Repair.Input(
                  storage, new CrashableStorage(), target, ledger, clock.millis(), 16 << 10));
      KvStore repaired = new OpenStore(target);
      assertEquals(List.of(), repaired.verify().problems(), "the repaired store");
      Excuse none = Excuse.of(Set.of());
      ReadStore read = new ReadStore(repaired, sound.names, none, !damage.forged());
      if (judges) {
        requireRepaired(read, result, repaired.keyspaces());
      }
    } catch (CorruptionException | IncompatibleFormatException e) {
      excuse.require(e);
      // Without anything that names a store there is nothing to repair.
      boolean foreign = e instanceof IncompatibleFormatException;
      assertTrue(damage.forged() || foreign, () -> "repair refuses: " + e);
    } finally {
      target.close();
    }
    assertEquals(0, ledger.totalBytes(), "off-heap bytes after a repair");
    assertEquals(List.of(), storage.openFiles(), "open files after a repair");
    requireUnchanged("repair");
  }

  private void requireRepaired(ReadStore read, RepairReport result, List<String> spaces) {
    boolean renamed = spaces.stream().anyMatch(name -> name.startsWith("keyspace-"));
    Set<String> told = new TreeSet<>();
    boolean somethingElse = false;
    for (RepairReport.Loss loss : result.losses()) {
      byte[] key = loss.key();
      somethingElse |= key.length == 0;
      told.add(key.length == 0 ? "" : loss.keyspace() + "/" + new String(key, UTF_8));
    }
    for (RepairReport.UncertainKey key : result.uncertain()) {
      told.add(key.keyspace() + "/" + new String(key.key(), UTF_8));
    }
    for (String name : sound.names) {
      if (renamed && !name.startsWith("/")) {
        continue;
      }
      byte[] value = read.found.get(name);
      boolean right = false;
      for (int i = sound.durable; i < sound.states.size(); i++) {
        right |= Arrays.equals(value, sound.states.get(i).get(name));
      }
      assertTrue(
          right || told.contains(name) || somethingElse,
          () -> name + " is not right after a repair, which does not say so: " + result);
      byte[] readable = known == null ? null : known.found.get(name);
      if (readable != null) {
        assertArrayEquals(readable, value, () -> name + " was readable before: " + result);
      }
    }
  }
}
