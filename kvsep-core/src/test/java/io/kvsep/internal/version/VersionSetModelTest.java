package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Random edits, pins and reopens against {@link FileSetModel}. Every version must say what the
 * model says, also an old one that is still pinned, and each file must be reported as obsolete
 * once, at the moment the last version with it dies.
 */
final class VersionSetModelTest {
  @Test
  void everyVersionSaysWhatTheEditsSayAlsoAfterReopening() {
    Seeds.some(getClass(), 120, 12, random -> new Run(random).go());
  }

  private static final class Run {
    private final Random random;
    private final MemoryLedger ledger = new MemoryLedger();
    private final CrashableStorage storage = new CrashableStorage();
    private final List<Pin> pins = new ArrayList<>();
    private final Set<Object> reported = new HashSet<>();
    private final Set<Object> gone = new HashSet<>();
    private FileSetModel model = new FileSetModel();
    private VersionSet set;

    private record Pin(Version version, FileSetModel model) {}

    private record Table(long number) {}

    private record Segment(long id) {}

    Run(Random random) throws Exception {
      this.random = random;
      this.set =
          VersionSet.create(
              storage, StoreId.random(random), ledger, this::obsolete, Readers.unbounded());
    }

    void go() throws Exception {
      for (int i = 0; i < 120; i++) {
        if (random.nextInt(8) == 0) {
          reopen();
        }
        if (random.nextInt(3) == 0) {
          Version version = set.current();
          assertTrue(version.tryRetain());
          pins.add(new Pin(version, model));
        }
        while (!pins.isEmpty() && random.nextInt(3) == 0) {
          unpin();
        }
        VersionEdit edit = model.edit(random, set::newFileNumber, set::newSegmentId);
        Set<Object> before = files(model);
        model = model.after(edit);
        before.removeAll(files(model));
        gone.addAll(before);
        set.apply(edit);
        check();
      }
      while (!pins.isEmpty()) {
        unpin();
      }
      set.close();
      assertEquals(0, ledger.totalBytes());
      assertEquals(List.of(), storage.openFiles());
    }

    private void check() {
      assertEquals(model.text(), FileSetModel.text(set.current()));
      Set<Object> expected = new HashSet<>(gone);
      for (Pin pin : pins) {
        assertEquals(pin.model.text(), FileSetModel.text(pin.version));
        expected.removeAll(files(pin.model));
      }
      assertEquals(expected, reported);
    }

    private void unpin() {
      pins.remove(random.nextInt(pins.size())).version.release();
      check();
    }

    private void reopen() throws Exception {
      while (!pins.isEmpty()) {
        unpin();
      }
      long number = set.newFileNumber();
      long segment = set.newSegmentId();
      set.close();
      boolean readOnly = random.nextInt(4) == 0;
      if (readOnly) {
        long operations = storage.operationCount();
        try (VersionSet reading =
            VersionSet.open(storage, true, ledger, this::obsolete, Readers.unbounded())) {
          assertEquals(model.text(), FileSetModel.text(reading.current()));
          assertTrue(reading.manifestBytes() > 0);
        }
        assertTrue(
            storage.trace().stream()
                .skip(operations)
                .noneMatch(line -> line.matches("(write|create|sync|rename|delete|truncate).*")));
      }
      set = VersionSet.open(storage, false, ledger, this::obsolete, Readers.unbounded());
      set.beginWriting();
      check();
      // Only numbers that an edit recorded are known to be taken; these two were recorded by none.
      assertTrue(set.newFileNumber() > number - 1);
      assertTrue(set.newSegmentId() > segment - 1);
      assertEquals(List.of(), set.orphans());
    }

    private void obsolete(List<TableFile> tables, List<Long> segments) {
      tables.forEach(table -> assertTrue(reported.add(new Table(table.meta().number()))));
      segments.forEach(id -> assertTrue(reported.add(new Segment(id))));
    }

    private static Set<Object> files(FileSetModel model) {
      Set<Object> files = new HashSet<>();
      model.tables().keySet().forEach(number -> files.add(new Table(number)));
      model.segmentFiles().forEach(id -> files.add(new Segment(id)));
      return files;
    }
  }
}
