package io.kvsep.internal.verify;

import io.kvsep.VerifyReport;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.background.FileRemover;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Verifies the current version on the calling thread, concurrently with all other use. */
public final class VerifyJob {
  /** CURRENT and the manifest. */
  private static final int MANIFEST_FILES = 2;

  private final EngineConfig config;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final FileRemover remover;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;

  /** Files of a running bulk load. */
  private final Supplier<Set<String>> filesBeingMade;

  public VerifyJob(
      EngineConfig config,
      VersionSet versions,
      SegmentDirectory segments,
      FileRemover remover,
      Epochs<?> epochs,
      MemoryLedger ledger,
      Supplier<Set<String>> filesBeingMade) {
    this.config = config;
    this.versions = versions;
    this.segments = segments;
    this.remover = remover;
    this.epochs = epochs;
    this.ledger = ledger;
    this.filesBeingMade = filesBeingMade;
  }

  /** Calls {@code pulse} often, which throws when the store is being closed. */
  public VerifyReport run(Runnable pulse) {
    long start = config.ticker().nanos();
    // An exception may skip the check of page faults.
    DeferredPageFaults.mayFollow();
    Set<String> strangers = strangers();
    Version version = versions.retainCurrent();
    StoreVerifier.Result checked;
    try {
      StoreVerifier verification =
          new StoreVerifier(
              new StoreVerifier.Context(
                  config.storage(), versions.storeId(), ledger, segments, epochs, pulse),
              version);
      versions.check(verification::add);
      checked = verification.run();
      // An unreadable page may look like damage.
      Region.requirePagesRead();
    } finally {
      version.release();
    }
    // The store does not name a file being written yet, but soon will.
    strangers.retainAll(strangers());
    List<VerifyReport.Problem> problems = new ArrayList<>();
    for (CorruptionException problem : checked.problems()) {
      problems.add(
          new VerifyReport.Problem(
              problem.file(), problem.offset(), problem.expected(), problem.found()));
    }
    return new VerifyReport(
        checked.files() + MANIFEST_FILES,
        checked.bytes(),
        checked.entries(),
        checked.records(),
        checked.problemCount(),
        problems,
        strangers.stream().sorted().toList(),
        (config.ticker().nanos() - start) / 1e9);
  }

  private Set<String> strangers() {
    try {
      Storage storage = config.storage();
      List<String> there = new ArrayList<>(storage.list());
      Set<String> known = new HashSet<>(versions.filesInUse());
      for (Segment segment : segments.all()) {
        known.add(segment.name());
      }
      known.addAll(remover.waitingNames());
      known.addAll(filesBeingMade.get());
      there.removeAll(known);
      return new HashSet<>(there);
    } catch (IOException e) {
      throw new StorageException("cannot list the files of the store", e);
    }
  }
}
