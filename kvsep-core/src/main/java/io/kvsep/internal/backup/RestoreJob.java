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
 * Puts a backup into a store: all of one into a store that was never written to, changes into one
 * that is exactly where they begin.
 *
 * <p>The stream is first read to its end, and checked, into a temporary file; until then nothing is
 * changed. Then the manifest says that a restore is under way, the records are written like those
 * of any writer, and the manifest says that it is done. A restore that dies in between leaves a
 * store that takes the same backup again, or all of the source up to the same number, and nothing
 * else: writing all of it once more leads to the same content, as ranges are deleted before
 * anything is put. That is so until somebody else writes, which the manifest says first: from then
 * on the store takes none, so that nobody's write is lost and nothing is called exact that is not.
 *
 * <p>Thread safe; one restore at a time writes. Whoever comes next finds what that one has left.
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
   * Held from the first change to the last, and not while a stream is read: that may take hours.
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
   * @param pulse is called often and throws when the store is being closed
   * @return the sequence number of the source that this store is at
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
    // An earlier backup of the same store may have had keyspaces and nothing in them.
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
   * Whether a backup of the same store leads to what is under way. One of changes does so only if
   * these changes are: while everything is, what was there before may be gone.
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

  /** Ids are those of the source, so they must not have been used here for others. */
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
    // Nobody may take an id that the backup brings.
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

  /** What the store was like when nothing of the backup was in it. */
  private record Start(long sequence, Map<String, Integer> keyspaces) {}

  /** With nobody writing: reading the stream may have taken hours, and all may have changed. */
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
   * Says where the store is now. With anybody else's writes in between, that is a number that it
   * has left behind; one that was used up by a write that failed makes no difference.
   */
  private void end(Header header, Start start) {
    alone(
        () -> {
          boolean others = underWay() == null;
          long left = reads.visibleSequence() > start.sequence ? start.sequence : Restored.MIXED;
          long sequence = others ? left : reads.visibleSequence();
          // All of the backup was synced, by which a log that ends before that is known as damaged.
          Restored done = new Restored(header.source(), header.since(), header.until(), sequence);
          note(new VersionEdit().restored(done).syncedLog(appender.durable()));
          pipeline.firstOfOthers(null);
        });
  }

  /** With nobody writing, or making a keyspace. */
  private void alone(Runnable action) {
    catalog.exclusively(() -> pipeline.exclusively(action));
  }

  /**
   * Before the first write of anybody else while one is under way, whether it is at work or has
   * failed: what it would lead to is not what the source has any more, or would not have that
   * write.
   */
  private void noteOthers() {
    Restored restored = underWay();
    if (restored == null) {
      // To say that failed, and the next open may find it said all the same.
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

  /** Takes the names, and looks whether everything else belongs to one of them. */
  private static final class Names implements BackupReader.Sink {
    final Map<String, Integer> ids = new HashMap<>();

    /** Those in the map: each record asks for one. */
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

  /** Writes records a batch at a time. */
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
