package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Sample;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Power loss at every operation of a run of create, apply and reopen. Whatever the disk kept of
 * what was not synced, the store opens with a prefix of the edits that includes every one whose
 * apply returned, and goes on from there.
 */
final class VersionSetCrashTest {
  private static final int STATES = 24;

  /** Crashes of a short run. */
  private static final int ROLL_POINTS = 24;

  @Test
  void aCrashAnywhereLeavesAPrefixWithAllThatWasApplied() {
    Seeds.some(
        getClass(),
        24,
        2,
        random -> {
          long seed = random.nextLong();
          long operations = new Run(seed, Long.MAX_VALUE).go();
          for (long at = 1; at <= operations; at++) {
            Run run = new Run(seed, at);
            run.go();
            run.checkAfterCrash(random);
          }
        });
  }

  @Test
  void aCrashAnywhereInARollAtRunTimeLosesNothing() {
    long seed = 1;
    Run whole = new Run(seed, Long.MAX_VALUE).withLargeEdits();
    int operations = (int) whole.go();
    assertTrue(whole.manifests() > 3, "no roll happened");
    Sample.ofRange(20, operations, ROLL_POINTS / 2)
        .run(
            VersionSetCrashTest.class,
            "aCrashAnywhereInARollAtRunTimeLosesNothing",
            ROLL_POINTS,
            (points, choice) -> points.forEach(at -> crash(seed, at)));
  }

  private static void crash(long seed, long at) {
    Run run = new Run(seed, at).withLargeEdits();
    run.go();
    try {
      run.checkAfterCrash(new Random(at));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** No caller knows of the store yet: it is there or not, but it is not damaged. */
  @Test
  void aKilledCreationAndAPowerFailureBehindItLeaveAStoreOrNone() throws IOException {
    int seconds = 0;
    for (long at = 1; ; at++) {
      CrashableStorage storage = new CrashableStorage();
      storage.freezeAt(at);
      if (creates(storage)) {
        break;
      }
      CrashableStorage killed = storage.moment();
      if (!VersionSet.exists(killed)) {
        continue;
      }
      boolean done = false;
      for (long next = 1; !done; next++) {
        CrashableStorage second = killed.moment();
        second.freezeAt(next);
        done = opens(second);
        seconds++;
        for (CrashableStorage after : second.crashStates(STATES)) {
          boolean there = VersionSet.exists(after);
          assertTrue(there || !done, "the store has vanished");
          assertTrue(there ? opens(after) : creates(after));
        }
      }
    }
    assertTrue(seconds > 10, "only " + seconds + " openings");
  }

  private static boolean creates(CrashableStorage storage) {
    try {
      VersionSet.create(
              storage,
              StoreId.random(new Random(5)),
              new MemoryLedger(),
              (t, s) -> {},
              Readers.unbounded())
          .close();
      return true;
    } catch (IOException | KvException e) {
      return false;
    }
  }

  private static boolean opens(CrashableStorage storage) {
    try (VersionSet set =
        VersionSet.open(storage, false, new MemoryLedger(), (t, s) -> {}, Readers.unbounded())) {
      set.beginWriting();
      return true;
    } catch (IOException | KvException e) {
      return false;
    }
  }

  /** Does the same for the same seed until the storage freezes. */
  private static final class Run {
    private final Random random;
    private final MemoryLedger ledger = new MemoryLedger();
    private final CrashableStorage storage = new CrashableStorage();
    private final List<String> states = new ArrayList<>();
    private FileSetModel model = new FileSetModel();
    private boolean created;
    private int applied;
    private int largeEdits;

    Run(long seed, long freezeAt) {
      random = new Random(seed);
      if (freezeAt != Long.MAX_VALUE) {
        storage.freezeAt(freezeAt);
      }
      states.add(model.text());
    }

    Run withLargeEdits() {
      largeEdits = 14;
      return this;
    }

    long go() {
      try {
        VersionSet set =
            VersionSet.create(
                storage, StoreId.random(random), ledger, (t, s) -> {}, Readers.unbounded());
        created = true;
        for (int i = 0; i < largeEdits; i++) {
          // Comes and goes, so that a snapshot is small and the manifest is not.
          long number = set.newFileNumber();
          byte[] key = new byte[65_000];
          key[0] = (byte) 0xff;
          apply(set, new VersionEdit().addTable(3, FileSetModel.meta(number, key, key)));
          apply(set, new VersionEdit().removeTable(3, number));
        }
        for (int session = 0; session < 3; session++) {
          for (int i = 0; i < 4; i++) {
            apply(set, model.edit(random, set::newFileNumber, set::newSegmentId));
          }
          set.close();
          set = VersionSet.open(storage, false, ledger, (t, s) -> {}, Readers.unbounded());
          set.beginWriting();
          assertEquals(model.text(), FileSetModel.text(set.current()));
        }
        set.close();
      } catch (IOException | KvException e) {
        storage.freeze();
      }
      return storage.operationCount();
    }

    long manifests() {
      return storage.trace().stream().filter(line -> line.startsWith("create MANIFEST")).count();
    }

    void checkAfterCrash(Random draw) throws IOException {
      for (CrashableStorage after : storage.crashStates(STATES, draw.nextLong())) {
        if (!VersionSet.exists(after)) {
          assertTrue(!created, "the store has vanished");
          VersionSet.create(after, StoreId.random(draw), ledger, (t, s) -> {}, Readers.unbounded())
              .close();
          continue;
        }
        VersionSet set = VersionSet.open(after, false, ledger, (t, s) -> {}, Readers.unbounded());
        String found = FileSetModel.text(set.current());
        int state = states.lastIndexOf(found);
        assertTrue(state >= applied, "edit lost, or no prefix of the edits:\n" + found);
        set.beginWriting();
        for (String orphan : set.orphans()) {
          after.delete(orphan);
        }
        long number = set.newFileNumber();
        byte[] key = {1};
        set.apply(new VersionEdit().addTable(0, FileSetModel.meta(number, key, key)));
        String next = FileSetModel.text(set.current());
        CrashableStorage again = after.crashSyncedOnly();
        VersionSet reopened =
            VersionSet.open(again, true, ledger, (t, s) -> {}, Readers.unbounded());
        assertEquals(next, FileSetModel.text(reopened.current()));
      }
      assertEquals(0, ledger.totalBytes());
    }

    private void apply(VersionSet set, VersionEdit edit) {
      states.add(model.after(edit).text());
      set.apply(edit);
      model = model.after(edit);
      applied++;
    }
  }
}
