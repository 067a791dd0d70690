package io.kvsep.internal.version;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.StoreId;
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
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The files of one open store and the manifest that records every change to them. Owns CURRENT and
 * the manifests, and allocates the numbers of all files.
 *
 * <p>Durability: an edit whose {@link #apply} returned survives any crash. After a crash the store
 * is in the state of some prefix of the applied edits. What {@link #open} has read is durable once
 * {@link #beginWriting} or an edit has succeeded. The manifest of an earlier process is never
 * continued, because an unsynced or failed end of it looks sound until the power fails.
 *
 * <p>Thread safe. Edits are applied one at a time under a lock; {@link #current} is a volatile
 * read.
 *
 * <p>Failures of {@link #apply}:
 *
 * <ul>
 *   <li>An edit that does not fit is an {@link IllegalStateException} and changes nothing.
 *   <li>A failed write is a {@link StorageException}. The partial edit is truncated and the files
 *       it added are deleted. If that fails, the whole edit may be in the manifest; the next call
 *       begins a new manifest without it, and only then the files are deleted.
 *   <li>A failed sync, or any failure once the edit is durable, is a {@link StoreFailedException},
 *       now and for every later edit: a caller would otherwise go on as if the edit did not exist.
 * </ul>
 */
public final class VersionSet implements AutoCloseable {
  private final Storage storage;
  private final StoreId storeId;
  private final boolean readOnly;
  private final DurableOutput output;
  private final LiveFiles liveFiles;
  private final FileNumbers numbers = new FileNumbers();
  private final ReentrantLock lock = new ReentrantLock();

  private volatile Version current;

  /** Null until the first switch; always null in a read-only store. */
  private volatile @Nullable ManifestWriter writer;

  /** Name and length of the manifest that was read; empty for a new store. */
  private volatile String manifestRead = "";

  private volatile long manifestBytesRead;

  /** Whether that manifest ends with a mark. */
  private boolean wasMarked;

  private volatile long segmentIdLimitRead = Long.MAX_VALUE;

  @GuardedBy("lock")
  private final VersionBuilder builder;

  /** Files of a failed edit, which the manifest may contain until the next switch. */
  @GuardedBy("lock")
  private final Set<String> doubtfulFiles = new LinkedHashSet<>();

  /** Former doubtful files that no edit may add again. */
  @GuardedBy("lock")
  private final Set<String> withdrawnFiles = new HashSet<>();

  /** Manifests to delete after the next switch. */
  @GuardedBy("lock")
  private final Set<String> oldManifests = new LinkedHashSet<>();

  /** The manifest may contain a failed edit or be incomplete: nothing may be appended. */
  @GuardedBy("lock")
  private boolean manifestInDoubt;

  @GuardedBy("lock")
  private @Nullable Throwable failure;

  @GuardedBy("lock")
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
   * Creates a durable store without files, in place of the remains of an attempt that crashed.
   *
   * @throws FileAlreadyExistsException if there is a store
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
    set.begin();
    return set;
  }

  private void begin() throws IOException {
    lock.lock();
    try {
      liveFiles.hold(current);
      switchManifest();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Opens the existing store. Changes nothing.
   *
   * @throws NoSuchFileException if there is none
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
   * Begins a durable manifest for this opening; nothing is changed before. Afterwards what was
   * recovered cannot be lost, so files that it does not mention may be deleted.
   */
  public void beginWriting() {
    switchManifestIf(() -> writer == null);
  }

  /**
   * Ensures that the next open does not install a failed edit. Until this or an edit succeeds, it
   * may.
   */
  @SuppressWarnings("GuardedBy") // The lambda runs under the lock.
  public void discardFailedEdit() {
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
   * Whether the directory holds a store. Remains of a crashed {@link #create} do not count: the
   * first manifest, without an edit, and temporary files.
   *
   * @throws CorruptionException if there are files of a store but no CURRENT
   */
  public static boolean exists(Storage storage) throws IOException {
    return CurrentFile.isIn(storage);
  }

  /** Throws if CURRENT is damaged or incompatible. Checks nothing else. */
  public static void checkCurrent(Storage storage, MemoryLedger ledger) throws IOException {
    CurrentFile.read(storage, ledger);
  }

  public StoreId storeId() {
    return storeId;
  }

  /** Retain it to use it beyond the call. */
  public Version current() {
    return current;
  }

  /** The caller releases it. */
  public Version retainCurrent() {
    Version version = current;
    while (!version.tryRetain()) {
      version = current;
    }
    return version;
  }

  /** For a table or a manifest; no process has used it. */
  public long newFileNumber() {
    return numbers.newFile();
  }

  /** Segment ids are a separate sequence, from 1. */
  public long newSegmentId() {
    return numbers.newSegment();
  }

  /**
   * Makes an edit durable and installs it; failures: see the class comment. After one other than
   * {@link IllegalStateException} the version set owns the files that the edit added, and no later
   * edit may add them.
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

  /** Returns the previous version, to be released without the lock. */
  @GuardedBy("lock")
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
   * Files of failed edits. Whether they belong to the store is known at the next open, or after the
   * next successful edit, which deletes them.
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
   * Unreferenced files with names of store files, sorted. Call it after {@link #beginWriting},
   * before which none may be deleted, and before new files are created, which are not referenced
   * yet.
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
   * Rereads CURRENT and the manifest and compares them with the current version; edits wait.
   * Reports nothing after a failed edit, whose outcome is uncertain.
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

  /** Files that may be in use, sorted. */
  public List<String> filesInUse() {
    Set<String> names = new TreeSet<>(liveFiles.names());
    ManifestWriter open = writer;
    names.add(open == null ? manifestRead : open.name());
    names.add(StoreFiles.CURRENT);
    names.add(StoreFiles.LOCK);
    names.addAll(doubtfulFiles());
    return List.copyOf(names);
  }

  public String manifestRead() {
    return manifestRead;
  }

  /** Above every segment id in the manifest that was read. */
  public long segmentIdLimitRead() {
    return segmentIdLimitRead;
  }

  public long manifestBytes() {
    ManifestWriter open = writer;
    return open == null ? manifestBytesRead : open.length();
  }

  public LiveTables liveTables() {
    return liveFiles.tables();
  }

  /** Bytes written to manifests and CURRENT since the open. */
  public long bytesWritten() {
    return output.bytesWritten();
  }

  /** Syncs of manifests, CURRENT and the directory since the open, including failed ones. */
  public long syncs() {
    return output.syncs();
  }

  /**
   * Rejects further edits. The current version stays held, so that its files do not become
   * obsolete; the store's owner closes its tables.
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
    lock.lock();
    try {
      builder.accept(builder.build(replay.snapshot()));
      current = builder.newest();
    } catch (IllegalStateException | ArithmeticException e) {
      throw ManifestReader.unfitting(manifest, e);
    } finally {
      lock.unlock();
    }
    liveFiles.hold(current);
    numbers.take(replay);
    segmentIdLimitRead = replay.nextSegmentId();
    storage.list().forEach(numbers::take);
  }

  @GuardedBy("lock")
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

  @GuardedBy("lock")
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

  @GuardedBy("lock")
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
          // Now, because beginning a manifest, which deletes them too, needs space.
          withdrawnFiles.addAll(doubtfulFiles);
          doubtfulFiles.removeIf(this::deleted);
        }
      }
    }
  }

  @GuardedBy("lock")
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
      // On a full disk a large manifest must not block the small edit that frees space.
      open.postponeLarge();
      return open;
    }
  }

  /**
   * The store's creator may have died before the name CURRENT was durable, or its sync failed. If a
   * power failure removed that name, a second manifest would be left without one.
   */
  private void confirmCreation() throws IOException {
    if (writer == null && manifestRead.equals(StoreFiles.manifest(CurrentFile.FIRST_MANIFEST))) {
      CurrentFile.prepare(output, new FileHeader(storeId, CurrentFile.FIRST_MANIFEST));
      CurrentFile.install(output);
    }
  }

  /** Begins a manifest with the newest version and makes it current. */
  @GuardedBy("lock")
  private ManifestWriter switchManifest() throws IOException {
    FileHeader header = new FileHeader(storeId, newFileNumber());
    VersionEdit snapshot = numbers.record(EditReplay.snapshotOf(builder.newest()));
    ManifestWriter fresh = null;
    boolean switched = false;
    boolean installing = false;
    try {
      fresh = ManifestWriter.create(output, header, snapshot);
      CurrentFile.prepare(output, header);
      // The manifest's name is durable before anything durable refers to it.
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

  /** A manifest that may be current is kept until a later one certainly is. */
  @GuardedBy("lock")
  private void abandon(@Nullable ManifestWriter fresh, String name, boolean mayBeInForce) {
    if (fresh != null) {
      fresh.close();
    }
    if (mayBeInForce || !deleted(name)) {
      oldManifests.add(name);
    }
  }

  @GuardedBy("lock")
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
    // A file that cannot be deleted becomes an orphan for the next open.
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
