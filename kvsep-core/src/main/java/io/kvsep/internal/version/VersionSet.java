package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.version.VersionBuilder.Successor;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The files of one open store and the manifest that records every change of them. Owns CURRENT and
 * the manifest files, and hands out the numbers of all others.
 *
 * <p>Promises: an edit whose {@link #apply} returned survives any crash; after a crash the store is
 * as some prefix of the applied edits left it. What {@link #open} has read is durable once {@link
 * #beginWriting} or an edit has succeeded: a file of an earlier process, of which an unsynced or
 * failed end would look sound until the power fails, is never continued, but a manifest is begun
 * with a snapshot of what was read.
 *
 * <p>Thread safe. Edits are applied one at a time under a lock; {@link #current} is a volatile
 * read.
 *
 * <p>Failures of {@link #apply}: an edit that does not fit is an {@link IllegalStateException} and
 * changes nothing. A failed write is a {@link StorageException}. What stands of the edit in the
 * manifest is taken back, and the files it added are deleted, here. Where it cannot be taken back,
 * it may be there whole: the next call begins a new manifest without it, and only then the files
 * go. A failed sync is a {@link StoreFailedException}, now and for every later edit, and so is
 * whatever fails when the edit is durable: whoever is told that an edit failed would go on as if it
 * were not there.
 */
public final class VersionSet implements AutoCloseable {
  private final Storage storage;
  private final StoreId storeId;
  private final boolean readOnly;
  private final DurableOutput output;
  private final LiveFiles liveFiles;
  private final FileNumbers numbers = new FileNumbers();
  private final NonAllocatingLock lock = new NonAllocatingLock();

  private volatile Version current;

  /** Null until the first switch, so always when opened for reading alone. */
  private volatile @Nullable ManifestWriter writer;

  /** Name and length of the manifest that was read; empty for a new store. */
  private volatile String manifestRead = "";

  private volatile long manifestBytesRead;

  /** Whether the manifest that was read ends with a mark. */
  private boolean wasMarked;

  /** Ids from here on were unknown to the manifest that was read. */
  private volatile long segmentIdLimitRead = Long.MAX_VALUE;

  // All below are guarded by lock.
  private final VersionBuilder builder;

  /** Files that a failed edit added: it may stand in the manifest until the next switch. */
  private final Set<String> doubtfulFiles = new LinkedHashSet<>();

  /** Doubtful files that were deleted, to be added by no edit any more. */
  private final Set<String> withdrawnFiles = new HashSet<>();

  /** Manifests to delete after the next switch. */
  private final Set<String> oldManifests = new LinkedHashSet<>();

  /** Whether the manifest may hold or lack what it should not, so that nothing may follow in it. */
  private boolean manifestInDoubt;

  private @Nullable Throwable failure;
  private boolean closed;

  private VersionSet(
      Storage storage,
      StoreId storeId,
      boolean readOnly,
      MemoryLedger ledger,
      ObsoleteFiles listener,
      TableCache cache) {
    this.storage = storage;
    this.storeId = storeId;
    this.readOnly = readOnly;
    this.output = new DurableOutput(storage, ledger);
    this.liveFiles = new LiveFiles(listener);
    this.builder = new VersionBuilder(storage, storeId, liveFiles, cache);
    this.current = builder.newest();
  }

  /**
   * Makes a store without tables and segments; it is durable when this returns. What a crashed
   * earlier attempt left is replaced. The cache decides how long its tables stay open.
   *
   * @throws FileAlreadyExistsException when there is a store
   */
  public static VersionSet create(
      Storage storage,
      StoreId storeId,
      MemoryLedger ledger,
      ObsoleteFiles listener,
      TableCache cache)
      throws IOException {
    if (exists(storage)) {
      throw new FileAlreadyExistsException(StoreFiles.CURRENT);
    }
    String firstManifest = StoreFiles.manifest(1);
    if (storage.exists(firstManifest)) {
      storage.delete(firstManifest);
    }
    VersionSet set =
        new VersionSet(storage, storeId, /* readOnly= */ false, ledger, listener, cache);
    set.liveFiles.hold(set.current);
    set.switchManifest();
    return set;
  }

  /**
   * Opens the store that is there. Changes nothing.
   *
   * @throws NoSuchFileException when there is none
   */
  public static VersionSet open(
      Storage storage,
      boolean readOnly,
      MemoryLedger ledger,
      ObsoleteFiles listener,
      TableCache cache)
      throws IOException {
    if (!exists(storage)) {
      throw new NoSuchFileException(StoreFiles.CURRENT);
    }
    FileHeader header = CurrentFile.read(storage, ledger);
    ManifestReader.Contents contents = ManifestReader.read(storage, header, ledger);
    VersionSet set = new VersionSet(storage, header.storeId(), readOnly, ledger, listener, cache);
    set.recover(StoreFiles.manifest(header.number()), contents);
    return set;
  }

  /**
   * Begins a manifest of this opening, durable. Until then nothing was changed; afterwards what was
   * recovered cannot be lost again, so that files it does not mention may be deleted.
   */
  public void beginWriting() {
    switchManifestIf(() -> writer == null);
  }

  /**
   * Makes certain that an edit which failed is not in force at the next open either. Until then, or
   * until the next edit that succeeds, it may be.
   */
  public void settle() {
    switchManifestIf(() -> manifestInDoubt);
  }

  private void switchManifestIf(BooleanSupplier needed) {
    lock.lock();
    try {
      requireWritable();
      if (needed.getAsBoolean()) {
        confirmCreation();
        switchManifest();
      }
    } catch (SyncFailure e) {
      failure = e;
      throw new StoreFailedException("cannot make the manifest durable", e);
    } catch (IOException e) {
      throw new StorageException("cannot begin a manifest", e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether a store is in this directory. The beginnings of a {@link #create} that crashed are
   * none: at most the first manifest, without an edit, and temporary files.
   *
   * @throws CorruptionException when files of a store are there and CURRENT is not
   */
  public static boolean exists(Storage storage) throws IOException {
    return CurrentFile.isIn(storage);
  }

  /** Looks at CURRENT alone: throws when it is damaged, or not one of this version's. */
  public static void checkCurrent(Storage storage, MemoryLedger ledger) throws IOException {
    CurrentFile.read(storage, ledger);
  }

  public StoreId storeId() {
    return storeId;
  }

  /** The version in force. To work with it for longer than the call, retain it. */
  public Version current() {
    return current;
  }

  /** The version in force, held for the caller, who releases it. */
  public Version retainCurrent() {
    Version version = current;
    while (!version.tryRetain()) {
      version = current;
    }
    return version;
  }

  /** For a table or a manifest. Was never given out before, not in earlier processes either. */
  public long newFileNumber() {
    return numbers.newFile();
  }

  /** Ids of segments count for themselves, from 1. */
  public long newSegmentId() {
    return numbers.newSegment();
  }

  /**
   * Makes an edit durable and puts it in force; see the class for how it fails. After a failure
   * other than {@link IllegalStateException} the files that the edit added belong to the version
   * set, and no later edit may add them.
   */
  public void apply(VersionEdit edit) {
    Version previous;
    lock.lock();
    try {
      requireWritable();
      requireNotWithdrawn(edit);
      Successor successor = builder.build(edit);
      numbers.take(edit);
      record(edit, successor);
      previous = putInForce(successor);
    } finally {
      lock.unlock();
    }
    try {
      previous.release();
    } catch (RuntimeException | Error e) {
      throw failDurable(e);
    }
  }

  /** Guarded by the lock. Returns what was in force, to be released without it. */
  private Version putInForce(Successor successor) {
    try {
      Version previous = current;
      builder.accept(successor);
      liveFiles.hold(successor.version);
      current = successor.version;
      return previous;
    } catch (RuntimeException | Error e) {
      throw failDurable(e);
    }
  }

  private StoreFailedException failDurable(Throwable cause) {
    lock.lock();
    try {
      failure = cause;
    } finally {
      lock.unlock();
    }
    return new StoreFailedException("a durable change of the store's files has failed", cause);
  }

  /**
   * Files of failed edits. Whether these belong to the store shows only at the next open, or after
   * the next edit that succeeds, which deletes them.
   */
  public List<String> doubtfulFiles() {
    lock.lock();
    try {
      return List.copyOf(doubtfulFiles);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Files in the directory that are a store's by name and that nothing refers to, sorted. Asked for
   * after {@link #beginWriting}, before which none of them may be deleted, and before new files are
   * made: those are not referred to yet either.
   */
  public List<String> orphans() throws IOException {
    Version version = current;
    ManifestWriter open = writer;
    Set<String> referenced = new HashSet<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        referenced.add(StoreFiles.table(table.meta().number()));
      }
    }
    version.liveness().segments().files().forEach(id -> referenced.add(StoreFiles.segment(id)));
    referenced.add(open == null ? manifestRead : open.name());
    referenced.addAll(doubtfulFiles());
    List<String> orphans = new ArrayList<>();
    for (String name : storage.list()) {
      boolean ofStore =
          switch (StoreFiles.kindOf(name)) {
            case MANIFEST, SEGMENT, TABLE, TEMPORARY -> true;
            case CURRENT, LOCK, OTHER -> false;
          };
      if (ofStore && !referenced.contains(name)) {
        orphans.add(name);
      }
    }
    return orphans;
  }

  /**
   * Reads CURRENT and the manifest anew and holds them against the version in force; edits wait
   * meanwhile. After a failed edit nothing can be said of them, and nothing is.
   */
  public void check(Consumer<CorruptionException> problems) {
    lock.lock();
    try {
      if (!manifestInDoubt && failure == null) {
        ManifestWriter open = writer;
        new ManifestCheck(storage, storeId, output.ledger(), problems)
            .run(
                open == null ? manifestRead : open.name(),
                manifestBytes(),
                open == null ? wasMarked : open.isMarked(),
                current);
      }
    } catch (IOException e) {
      throw new StorageException("cannot read the manifest", e);
    } finally {
      lock.unlock();
    }
  }

  /** Names of the files of this store that somebody may need now, sorted. */
  public List<String> filesInUse() {
    Set<String> names = new TreeSet<>(liveFiles.names());
    ManifestWriter open = writer;
    names.add(open == null ? manifestRead : open.name());
    names.add(StoreFiles.CURRENT);
    names.add(StoreFiles.LOCK);
    names.addAll(doubtfulFiles());
    return List.copyOf(names);
  }

  /** Name of the manifest that was read. */
  public String manifestRead() {
    return manifestRead;
  }

  /** The manifest that was read knows nothing of segments with this id or a higher one. */
  public long segmentIdLimitRead() {
    return segmentIdLimitRead;
  }

  /** Length of the manifest in force. */
  public long manifestBytes() {
    ManifestWriter open = writer;
    return open == null ? manifestBytesRead : open.length();
  }

  /** The tables in force, and those that are kept for whoever holds an older version. */
  public LiveTables liveTables() {
    return liveFiles.tables();
  }

  /** Written to manifests and CURRENT since the open. */
  public long bytesWritten() {
    return output.bytesWritten();
  }

  /** Syncs of manifests, CURRENT and the directory since the open, failed ones included. */
  public long syncs() {
    return output.syncs();
  }

  /**
   * No edit is applied any more. The current version stays as it is, so that its files are not
   * taken for obsolete; whoever closes the store closes its tables.
   */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      ManifestWriter open = writer;
      if (open != null) {
        open.close();
      }
    } finally {
      lock.unlock();
    }
  }

  private void recover(String manifest, ManifestReader.Contents contents) throws IOException {
    manifestRead = manifest;
    manifestBytesRead = contents.length();
    wasMarked = contents.isWhole();
    EditReplay replay = contents.replay();
    try {
      builder.accept(builder.build(replay.snapshot()));
    } catch (IllegalStateException | ArithmeticException e) {
      throw ManifestReader.unfitting(manifest, e);
    }
    current = builder.newest();
    liveFiles.hold(current);
    numbers.take(replay);
    segmentIdLimitRead = replay.nextSegmentId();
    storage.list().forEach(numbers::take);
  }

  private void requireWritable() {
    if (closed) {
      throw new StoreClosedException("the store is closed");
    }
    if (readOnly) {
      throw new IllegalStateException("the store is open for reading alone");
    }
    if (failure != null) {
      throw new StoreFailedException("an earlier change of the store's files has failed", failure);
    }
  }

  private void requireNotWithdrawn(VersionEdit edit) {
    if (doubtfulFiles.isEmpty() && withdrawnFiles.isEmpty()) {
      return;
    }
    List<String> names = new ArrayList<>();
    edit.addedTables().forEach(table -> names.add(StoreFiles.table(table.meta().number())));
    edit.addedSegmentFiles().forEach(id -> names.add(StoreFiles.segment(id)));
    for (String name : names) {
      if (doubtfulFiles.contains(name) || withdrawnFiles.contains(name)) {
        throw new IllegalStateException("the edit that added " + name + " has failed for good");
      }
    }
  }

  private void record(VersionEdit edit, Successor successor) {
    boolean recorded = false;
    try {
      ManifestWriter target = manifestToAppendTo();
      try {
        target.append(numbers.record(edit));
        recorded = true;
      } finally {
        manifestInDoubt = !target.isIntact();
      }
    } catch (SyncFailure e) {
      failure = e;
      throw new StoreFailedException("cannot make a change of the store's files durable", e);
    } catch (IOException e) {
      throw new StorageException("cannot record a change of the store's files", e);
    } finally {
      if (!recorded) {
        successor.newTables().forEach(number -> doubtfulFiles.add(StoreFiles.table(number)));
        edit.addedSegmentFiles().forEach(id -> doubtfulFiles.add(StoreFiles.segment(id)));
        if (!manifestInDoubt) {
          // On a full disk at once: to begin a manifest, which deletes them too, takes space.
          withdrawnFiles.addAll(doubtfulFiles);
          doubtfulFiles.removeIf(this::deleted);
        }
      }
    }
  }

  private ManifestWriter manifestToAppendTo() throws IOException {
    storage.checkDirectory();
    ManifestWriter open = writer;
    if (open == null || manifestInDoubt) {
      return switchManifest();
    }
    if (!open.isLarge()) {
      return open;
    }
    try {
      return switchManifest();
    } catch (SyncFailure e) {
      throw e;
    } catch (IOException e) {
      if (manifestInDoubt) {
        throw e;
      }
      // On a full disk the edit that frees space is a small one; do not let a large file stop it.
      open.postponeLarge();
      return open;
    }
  }

  /**
   * Whoever made the store may have died before the name CURRENT was durable, or have been told
   * that it may not be. A power failure that takes it would leave a second manifest without one.
   */
  private void confirmCreation() throws IOException {
    if (writer == null && manifestRead.equals(StoreFiles.manifest(CurrentFile.FIRST_MANIFEST))) {
      CurrentFile.prepare(output, new FileHeader(storeId, CurrentFile.FIRST_MANIFEST));
      CurrentFile.install(output);
    }
  }

  /** Begins a manifest with the newest version and puts it in force. */
  private ManifestWriter switchManifest() throws IOException {
    FileHeader header = new FileHeader(storeId, newFileNumber());
    VersionEdit snapshot = numbers.record(EditReplay.snapshotOf(builder.newest()));
    ManifestWriter fresh = null;
    boolean switched = false;
    boolean installing = false;
    try {
      fresh = ManifestWriter.create(output, header, snapshot);
      CurrentFile.prepare(output, header);
      // The name of the manifest is durable before anything durable can mention it.
      output.syncDirectory();
      manifestInDoubt = true;
      installing = true;
      CurrentFile.install(output);
      switched = true;
    } finally {
      if (!switched) {
        abandon(fresh, StoreFiles.manifest(header.number()), installing);
      }
    }
    replaceWriter(fresh);
    return fresh;
  }

  /** A manifest that may be in force is kept until a later one certainly is. */
  private void abandon(@Nullable ManifestWriter fresh, String name, boolean mayBeInForce) {
    if (fresh != null) {
      fresh.close();
    }
    if (mayBeInForce || !deleted(name)) {
      oldManifests.add(name);
    }
  }

  private void replaceWriter(ManifestWriter fresh) {
    ManifestWriter old = writer;
    if (old != null) {
      old.close();
      oldManifests.add(old.name());
    } else if (!manifestRead.isEmpty()) {
      oldManifests.add(manifestRead);
    }
    writer = fresh;
    manifestInDoubt = false;
    // What cannot be deleted is an orphan for the next open to find.
    oldManifests.forEach(this::deleted);
    oldManifests.clear();
    doubtfulFiles.forEach(this::deleted);
    withdrawnFiles.addAll(doubtfulFiles);
    doubtfulFiles.clear();
  }

  private boolean deleted(String name) {
    try {
      storage.delete(name);
      return true;
    } catch (NoSuchFileException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
