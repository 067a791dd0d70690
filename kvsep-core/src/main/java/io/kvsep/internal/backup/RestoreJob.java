package io.kvsep.internal.backup;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.backup.BackupFormat.Header;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.BackupLineage.Restored;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.write.CommitPipeline;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.StoreWrites;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Restores a backup: a full one into a store that was never written to, changes into a store
 * exactly at their start.
 *
 * <p>The stream is first read into a temporary file and checked; until then nothing is changed.
 * Then the manifest records that a restore has begun, the records are written as ordinary writes,
 * and the manifest records the end. After a failure in between, the store accepts only the same
 * backup, or a full one of the source up to the same number. Writing all of it again leads to the
 * same content, because ranges are deleted before anything is put. Before the first other write,
 * the manifest records that the restore is mixed; from then on no backup is accepted, so that no
 * write is lost and no state is wrongly called exact.
 *
 * <p>Thread safe. One restore writes at a time; the next one sees its result.
 */
final class RestoreJob {
  private final EngineConfig config;
  private final StoreReads reads;
  private final StoreWrites writes;
  private final KeyspaceCatalog catalog;
  private final VersionSet versions;
  private final LogTail appender;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final CommitPipeline pipeline;

  /**
   * Held from the first to the last change, but not while reading a stream, which may take hours.
   */
  private final ReentrantLock oneAtATime = new ReentrantLock();

  RestoreJob(
      EngineConfig config,
      StoreReads reads,
      StoreWrites writes,
      CommitPipeline pipeline,
      KeyspaceCatalog catalog,
      VersionSet versions,
      LogTail appender,
      FailureState failure,
      MemoryLedger ledger) {
    this.config = config;
    this.reads = reads;
    this.writes = writes;
    this.pipeline = pipeline;
    this.catalog = catalog;
    this.versions = versions;
    this.appender = appender;
    this.failure = failure;
    this.ledger = ledger;
    if (underWay() != null) {
      pipeline.firstOfOthers(this::noteOthers);
    }
  }

  /**
   * Restores a backup.
   *
   * @param pulse called often; throws when the store is being closed
   * @return the sequence number of the source that this store has reached
   */
  long run(InputStream input, Runnable pulse) throws IOException {
    long number = versions.newFileNumber();
    try (RestoreSpool spool = new RestoreSpool(config.storage(), number, ledger)) {
      BackupReader survey = new BackupReader(spool.recording(input), pulse);
      Header header = survey.header();
      requireFits(header, versions.current());
      Names names = new Names(survey);
      survey.readAll(names);
      BackupReader again = new BackupReader(spool.recorded(), pulse);
      oneAtATime.lock();
      try {
        pulse.run();
        apply(header, names.ids, again);
      } finally {
        oneAtATime.unlock();
      }
      return header.until();
    }
  }

  private void requireFits(Header header, Version version) {
    Restored restored = version.history().restored();
    Restored ofSource =
        restored != null && restored.source().equals(header.source()) ? restored : null;
    // An earlier backup of the same store may have contained only empty keyspaces.
    boolean keyspacesOfSource = ofSource != null && ofSource.sequence() != Restored.MIXED;
    boolean untouched =
        reads.visibleSequence() == 0
            && (keyspacesOfSource || version.nextKeyspace() == Keyspaces.DEFAULT + 1);
    boolean fits =
        (untouched && header.since() == 0)
            || (ofSource != null
                && (isAt(ofSource, header.since()) || completes(ofSource, header)));
    if (!fits) {
      String needed =
          header.since() == 0
              ? "a backup of everything needs a store that was never written to"
              : "the backup goes on from " + header.since() + " of store " + header.source();
      throw refused(needed + ", and this store is " + describe(restored));
    }
  }

  private boolean isAt(Restored restored, long number) {
    return restored.until() == number && restored.sequence() == reads.visibleSequence();
  }

  /**
   * Whether a backup of the same store completes the interrupted restore. A backup of changes does
   * so only for the same changes: an interrupted full restore may have deleted older content.
   */
  private static boolean completes(Restored restored, Header header) {
    return restored.isUnderWay()
        && restored.until() == header.until()
        && (header.complete() || restored.since() == header.since());
  }

  private String describe(@Nullable Restored restored) {
    if (restored == null) {
      return "one of its own";
    }
    String what = restored.until() + " of store " + restored.source();
    boolean mixed = restored.sequence() == Restored.MIXED;
    String place =
        restored.isUnderWay() || mixed ? "on its way from " + restored.since() + " to " : "at ";
    boolean changed = !restored.isUnderWay() && restored.sequence() != reads.visibleSequence();
    return place + what + (changed ? ", and changed" : "");
  }

  /** Ids are those of the source, so they must not be in use here for other keyspaces. */
  private void requireFits(Map<String, Integer> names, Version version) {
    Set<Integer> there = new HashSet<>(version.keyspaces().values());
    for (Map.Entry<String, Integer> name : names.entrySet()) {
      boolean same = name.getValue().equals(version.keyspaces().get(name.getKey()));
      if (!same && (there.contains(name.getValue()) || name.getValue() < version.nextKeyspace())) {
        throw refused("keyspaces were made in this store since it was restored");
      }
    }
  }

  private static IncompatibleFormatException refused(String why) {
    return new IncompatibleFormatException(BackupFormat.NAME, Reason.FOREIGN, why);
  }

  private void apply(Header header, Map<String, Integer> names, BackupReader backup)
      throws IOException {
    AtomicReference<Start> begun = new AtomicReference<>();
    // Keeps other threads from allocating ids that the backup contains.
    catalog.exclusively(
        () -> {
          Start start = begin(header, names);
          begun.set(start);
          changeKeyspaces(start.keyspaces, names);
        });
    Start start = Objects.requireNonNull(begun.get());
    Records records = new Records();
    if (header.complete() && start.sequence > 0) {
      records.clearKeyspace(Keyspaces.DEFAULT);
      for (int id : names.values()) {
        records.clearKeyspace(id);
      }
    }
    backup.readAll(records);
    records.write();
    appender.sync();
    end(header, start);
  }

  private void changeKeyspaces(Map<String, Integer> there, Map<String, Integer> names) {
    Map<String, Integer> missing = new HashMap<>(names);
    List<Integer> gone = new ArrayList<>();
    there.forEach(
        (name, id) -> {
          if (!missing.remove(name, id)) {
            gone.add(id);
          }
        });
    for (int id : gone) {
      catalog.drop(id, /* restores= */ true);
    }
    if (!missing.isEmpty()) {
      catalog.add(missing);
    }
  }

  /** State of the store before the restore. */
  private record Start(long sequence, Map<String, Integer> keyspaces) {}

  /** Excludes writers and checks again: reading the stream may have taken hours. */
  private Start begin(Header header, Map<String, Integer> names) {
    AtomicReference<Start> start = new AtomicReference<>();
    alone(
        () -> {
          Version version = versions.current();
          requireFits(header, version);
          requireFits(names, version);
          start.set(new Start(reads.visibleSequence(), version.keyspaces()));
          pipeline.firstOfOthers(this::noteOthers);
          long since = header.complete() ? 0 : header.since();
          note(new Restored(header.source(), since, header.until(), Restored.UNDER_WAY));
        });
    return Objects.requireNonNull(start.get());
  }

  /**
   * Records the state reached. If other writes happened in between, records a sequence number that
   * the store has passed; numbers used only by failed writes do not matter.
   */
  private void end(Header header, Start start) {
    alone(
        () -> {
          boolean others = underWay() == null;
          long left = reads.visibleSequence() > start.sequence ? start.sequence : Restored.MIXED;
          long sequence = others ? left : reads.visibleSequence();
          // The whole backup is synced, so a log that ends before that point is damaged.
          Restored done = new Restored(header.source(), header.since(), header.until(), sequence);
          note(new VersionEdit().restored(done).syncedLog(appender.durable()));
          pipeline.firstOfOthers(null);
        });
  }

  private void alone(Runnable action) {
    catalog.exclusively(() -> pipeline.exclusively(action));
  }

  /**
   * Runs before the first other write while a restore is running or has failed. Completing the
   * restore would then lose that write, or not reproduce the source.
   */
  private void noteOthers() {
    Restored restored = underWay();
    if (restored == null) {
      // Recording it failed, but the next open may find it recorded.
      failure.guard(versions::settle);
    } else {
      note(new Restored(restored.source(), restored.since(), restored.until(), Restored.MIXED));
    }
  }

  private @Nullable Restored underWay() {
    Restored restored = versions.current().history().restored();
    return restored != null && restored.isUnderWay() ? restored : null;
  }

  private void note(Restored restored) {
    note(new VersionEdit().restored(restored));
  }

  private void note(VersionEdit edit) {
    failure.guard(() -> versions.apply(edit));
  }

  /** Collects the keyspaces and checks that every record belongs to one of them. */
  private static final class Names implements BackupReader.Sink {
    final Map<String, Integer> ids = new HashMap<>();

    /** The values of the map, for fast lookup per record. */
    private final Set<Integer> known = new HashSet<>();

    private final BackupReader survey;

    Names(BackupReader survey) {
      this.survey = survey;
    }

    @Override
    public void keyspace(int id, String name) {
      boolean isNew = known.add(id) && ids.put(name, id) == null;
      if (!isNew) {
        throw survey.damage("each keyspace once", "keyspace " + id + ", " + name);
      }
    }

    @Override
    public void range(byte[] from, byte[] to) {
      requireNamed(from);
      int id = Keyspaces.of(from);
      if (Arrays.compareUnsigned(from, to) >= 0
          || Arrays.compareUnsigned(to, Keyspaces.end(id)) > 0) {
        throw survey.damage("a range of one keyspace", "another one");
      }
    }

    @Override
    public void delete(byte[] storedKey) {
      requireNamed(storedKey);
    }

    @Override
    public boolean wantsValues() {
      return false;
    }

    @Override
    public void put(byte[] storedKey, long expiresAtMillis, byte[] value) {
      requireNamed(storedKey);
    }

    private void requireNamed(byte[] storedKey) {
      int id = Keyspaces.of(storedKey);
      if (id != Keyspaces.DEFAULT && !known.contains(id)) {
        throw survey.damage("a keyspace with a name", "keyspace " + id);
      }
    }
  }

  private final class Records implements BackupReader.Sink {
    private final RestoreBatch batch = new RestoreBatch();
    private final Set<Integer> cleared = new HashSet<>();

    void clearKeyspace(int id) {
      if (cleared.add(id)) {
        add(Tag.RANGE_DELETE, Keyspaces.storedKey(id, new byte[0]), Keyspaces.end(id), 0);
      }
    }

    void write() {
      if (batch.recordCount() > 0) {
        writes.restore(batch, batch.keyspaces());
        batch.clear();
      }
    }

    private void add(int kind, byte[] storedKey, byte @Nullable [] value, long expiresAtMillis) {
      batch.add(kind, storedKey, value, expiresAtMillis);
      if (batch.isFull()) {
        write();
      }
    }

    @Override
    public void keyspace(int id, String name) {}

    @Override
    public void range(byte[] from, byte[] to) {
      add(Tag.RANGE_DELETE, from, to, 0);
    }

    @Override
    public void delete(byte[] storedKey) {
      add(Tag.DELETE, storedKey, null, 0);
    }

    @Override
    public boolean wantsValues() {
      return true;
    }

    @Override
    public void put(byte[] storedKey, long expiresAtMillis, byte[] value) {
      boolean expires = expiresAtMillis != SnapshotCursor.NEVER;
      add(expires ? Tag.PUT | Tag.EXPIRES : Tag.PUT, storedKey, value, expiresAtMillis);
    }
  }
}
