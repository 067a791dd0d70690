package io.kvsep.internal.version;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Lincheck;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Edits beside readers that hold a version for a while: what a held version refers to is never
 * reported as obsolete, and everything that no version refers to is, once.
 */
@Tag("lincheck")
final class VersionSetLincheckTest {
  @Test
  void noFileOfAHeldVersionIsObsoleteInAnyInterleaving() {
    Lincheck.modelChecking()
        // Both run under the set's lock, and what they build and write is not what this is about.
        .addGuarantee(
            forClasses(
                    "io.kvsep.internal.version.ManifestWriter",
                    "io.kvsep.internal.version.VersionBuilder")
                .allMethods()
                .treatAsAtomic())
        .sequentialSpecification(Counter.class)
        .check(Files.class);
  }

  @Test
  void noFileOfAHeldVersionIsObsoleteAtFullSpeed() {
    Lincheck.stress().sequentialSpecification(Counter.class).check(Files.class);
  }

  /** A version set in which one table takes the place of another. */
  public static final class Files {
    private static final byte[] KEY = {1};
    private static final MemoryLedger LEDGER = new MemoryLedger();
    private static @Nullable Files latest;

    private final Set<Long> obsolete = ConcurrentHashMap.newKeySet();
    private final VersionSet set;
    private long table;
    private int replacements;

    public Files() throws IOException {
      Files before = latest;
      if (before != null) {
        before.set.close();
      }
      latest = this;
      set =
          VersionSet.create(
              new CrashableStorage(),
              new StoreId(1, 2),
              LEDGER,
              this::noteObsolete,
              Readers.unbounded());
      table = set.newFileNumber();
      set.apply(new VersionEdit().addTable(0, FileSetModel.meta(table, KEY, KEY)));
    }

    @Operation(nonParallelGroup = "writer")
    public int replace() {
      long next = set.newFileNumber();
      replacements++;
      set.apply(
          new VersionEdit()
              .removeTable(0, table)
              .addTable(0, FileSetModel.meta(next, KEY, KEY))
              .lastSequence(replacements));
      table = next;
      return replacements;
    }

    @Operation
    public int read() {
      Version version = set.current();
      while (!version.tryRetain()) {
        version = set.current();
      }
      try {
        requireThere(version);
        requireThere(version);
        return (int) version.lastSequence();
      } finally {
        version.release();
      }
    }

    @Validate
    public void allReplacedTablesAreObsolete() {
      if (obsolete.size() != replacements || obsolete.contains(table)) {
        throw new IllegalStateException(obsolete + " after " + replacements);
      }
    }

    private void requireThere(Version version) {
      for (TableFile file : version.level(0)) {
        if (obsolete.contains(file.meta().number())) {
          throw new IllegalStateException("obsolete while held");
        }
      }
    }

    private void noteObsolete(List<TableFile> tables, List<Long> segments) {
      for (TableFile file : tables) {
        if (!obsolete.add(file.meta().number())) {
          throw new IllegalStateException("obsolete twice");
        }
      }
    }
  }

  /** The same without concurrency. */
  public static final class Counter {
    private int replacements;

    public int replace() {
      return ++replacements;
    }

    public int read() {
      return replacements;
    }
  }
}
