package io.kvsep.internal.backup;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.backup.BackupFormat.Header;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.load.BulkLoads;
import io.kvsep.internal.load.LoadCondition;
import io.kvsep.internal.load.LoadSource;
import io.kvsep.internal.read.PinnedReadState;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.BackupLineage.Restored;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.write.KeyspaceCatalog;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Restores a full backup into a store that was never written to, or changes into a store exactly at
 * their start.
 *
 * <p>A restore is a bulk load of the records. After the stream was read to its end and checked, and
 * only if the backup still fits, one edit of the manifest installs entries, keyspace names and the
 * sequence number reached. So the store holds all of the backup or nothing of it. Deleted ranges
 * and dropped keyspaces become deletes of the store's keys in them; a write meanwhile makes the
 * restore fail.
 *
 * <p>Thread safe.
 */
final class RestoreJob {
  private final StoreReads reads;
  private final KeyspaceCatalog catalog;
  private final VersionSet versions;
  private final BulkLoads loads;

  RestoreJob(StoreReads reads, KeyspaceCatalog catalog, VersionSet versions, BulkLoads loads) {
    this.reads = reads;
    this.catalog = catalog;
    this.versions = versions;
    this.loads = loads;
  }

  /**
   * Returns the sequence number of the source that this store has reached.
   *
   * @param pulse called often; throws when the store is being closed
   */
  long run(InputStream input, Runnable pulse) throws IOException {
    BackupReader backup = new BackupReader(input, pulse);
    Header header = backup.header();
    try (PinnedReadState start = reads.moment()) {
      Effect effect = new Effect(header, start.version().keyspaces(), backup.keyspaces());
      effect.requireFits();
      boolean found = backup.next();
      while (found && backup.kind() == BackupFormat.KEYSPACE) {
        found = backup.next();
      }
      try (Entries entries = new Entries(backup, found, start)) {
        Set<Integer> emptied = effect.dropped();
        if (header.complete() && start.sequence() > 0) {
          emptied.add(Keyspaces.DEFAULT);
          emptied.addAll(start.version().keyspaces().values());
        }
        emptied.forEach(entries::deleteAll);
        if (loads.load(Keyspaces.DEFAULT, entries, effect) == 0) {
          loads.exclusively(effect::applyAlone);
        }
      }
      return header.until();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** The condition of a restore, and what it changes besides entries. */
  private final class Effect implements LoadCondition {
    private final Header header;

    /**
     * Keyspace ids by name, before the restore and after it; the latter are complete when the
     * entries begin.
     */
    private final Map<String, Integer> before;

    private final Map<String, Integer> after;

    Effect(Header header, Map<String, Integer> before, Map<String, Integer> after) {
      this.header = header;
      this.before = before;
      this.after = after;
    }

    @Override
    public void check() {
      requireFits();
      // Ids are the source's, so no other keyspace may use them here.
      int next = versions.current().nextKeyspace();
      after.forEach(
          (name, id) -> {
            if (!id.equals(before.get(name)) && id < next) {
              throw refused("keyspaces were made in this store since it was restored");
            }
          });
    }

    void requireFits() {
      Version version = versions.current();
      Restored restored = version.history().restored();
      boolean untouched =
          reads.visibleSequence() == 0 && version.nextKeyspace() == Keyspaces.DEFAULT + 1;
      boolean follows =
          restored != null
              && restored.source().equals(header.source())
              && restored.until() == header.since()
              && restored.sequence() == reads.visibleSequence();
      if (!(untouched && header.since() == 0) && !follows) {
        String needed =
            header.since() == 0
                ? "a full backup needs a store that was never written to"
                : "a backup of changes since "
                    + header.since()
                    + " needs a store restored up to there from store "
                    + header.source();
        throw refused(needed + ", and this one " + describe(restored));
      }
    }

    private String describe(@Nullable Restored restored) {
      if (restored == null) {
        return "was not restored from a backup";
      }
      boolean changed = restored.sequence() != reads.visibleSequence();
      return "was restored up to "
          + restored.until()
          + " from store "
          + restored.source()
          + (changed ? ", and changed since" : "");
    }

    Set<Integer> dropped() {
      Set<Integer> ids = new TreeSet<>(before.values());
      ids.removeIf(after::containsValue);
      return ids;
    }

    @Override
    public void addTo(VersionEdit edit, long sequence) {
      dropped().forEach(edit::dropKeyspace);
      after.forEach(
          (name, id) -> {
            if (!id.equals(before.get(name))) {
              edit.addKeyspace(id, name);
            }
          });
      edit.restored(new Restored(header.source(), header.since(), header.until(), sequence));
    }

    @Override
    public void installed() {
      dropped().forEach(catalog::dropped);
    }

    /** For a backup without entries. */
    void applyAlone() {
      check();
      VersionEdit edit = new VersionEdit();
      addTo(edit, reads.visibleSequence());
      catalog.apply(edit);
      installed();
    }
  }

  private static IncompatibleFormatException refused(String why) {
    return new IncompatibleFormatException(BackupFormat.NAME, Reason.FOREIGN, why);
  }

  /** The entries of a backup, and deletes of the keys in its deleted ranges. */
  private static final class Entries implements LoadSource, AutoCloseable {
    private static final byte[] NONE = {};

    /** Stored keys. */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    private record Range(byte[] from, byte[] to) {}

    private final BackupReader backup;
    private final PinnedReadState start;
    private final Queue<Range> deleted = new ArrayDeque<>();

    /** Over the keys of the current deleted range. */
    private @Nullable SnapshotCursor cursor;

    /** Whether the backup is at a record, and whether that record was returned. */
    private boolean found;

    private boolean used;

    private boolean isDelete;
    private int keyspace;
    private byte[] key = NONE;
    private byte[] value = NONE;
    private long expiresAtMillis;

    /**
     * @param found whether {@code backup} is at a record
     */
    Entries(BackupReader backup, boolean found, PinnedReadState start) {
      this.backup = backup;
      this.found = found;
      this.start = start;
    }

    /** Deletes all keys of a keyspace before the next record. */
    void deleteAll(int id) {
      deleted.add(new Range(Keyspaces.storedKey(id, NONE), Keyspaces.end(id)));
    }

    @Override
    public boolean next() {
      try {
        while (!nextDeleted()) {
          found = used ? backup.next() : found;
          used = true;
          if (!found) {
            return false;
          }
          if (take()) {
            return true;
          }
        }
        return true;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private boolean nextDeleted() {
      while (true) {
        SnapshotCursor keys = cursor;
        if (keys == null) {
          Range range = deleted.poll();
          if (range == null) {
            return false;
          }
          keys = keys(range);
          cursor = keys;
        }
        if (keys.next()) {
          set(keyspace, keys.key(), NONE, SnapshotCursor.NEVER, /* deletes= */ true);
          return true;
        }
        cursor = null;
        keys.close();
      }
    }

    private SnapshotCursor keys(Range range) {
      keyspace = Keyspaces.of(range.from);
      int prefix = Keyspaces.prefixLength(keyspace);
      boolean inside =
          range.to.length >= prefix && Arrays.equals(range.from, 0, prefix, range.to, 0, prefix);
      byte[] to = inside ? userKey(range.to) : null;
      return start.keys(keyspace, userKey(range.from), to);
    }

    /** Whether the record is an entry. */
    private boolean take() {
      if (backup.kind() == BackupFormat.RANGE) {
        deleted.add(new Range(backup.key(), backup.value()));
        return false;
      }
      boolean deletes = backup.kind() == BackupFormat.DELETE;
      set(
          Keyspaces.of(backup.key()),
          userKey(backup.key()),
          backup.value(),
          deletes ? SnapshotCursor.NEVER : backup.expiresAtMillis(),
          deletes);
      // Older backups have deletes of impossible keys next to ranges.
      return !isDelete || (key.length > 0 && key.length <= Limits.KEY_BYTES_MAX);
    }

    private void set(int id, byte[] userKey, byte[] bytes, long expiry, boolean deletes) {
      keyspace = id;
      key = userKey;
      value = bytes;
      expiresAtMillis = expiry;
      isDelete = deletes;
    }

    private static byte[] userKey(byte[] stored) {
      int prefix = Keyspaces.prefixLength(Keyspaces.of(stored));
      return Arrays.copyOfRange(stored, prefix, stored.length);
    }

    @Override
    public int keyspace(int ofLoad) {
      return keyspace;
    }

    @Override
    public boolean isDelete() {
      return isDelete;
    }

    @Override
    public byte[] key() {
      return key;
    }

    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public long expiresAtMillis() {
      return expiresAtMillis;
    }

    @Override
    public void close() {
      if (cursor != null) {
        cursor.close();
      }
    }
  }
}
