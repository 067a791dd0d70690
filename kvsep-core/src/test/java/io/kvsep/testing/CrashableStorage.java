package io.kvsep.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.error.StoreLockedException;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.AbstractList;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.IntUnaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A directory in memory that can lose power, be killed, fail on demand, run full and be damaged.
 *
 * <p>Holds, for each file and for the names, what power loss leaves for certain and the changes
 * since; {@link CrashStates} says what may become of these. A crash gives a new storage and freezes
 * this one: from then on every operation on it, its files and locks throws {@code
 * IOException("crashed")}, so that late background work cannot reach the new one. Closing still
 * works, silently. A frozen storage may be crashed again, for another state of the same moment, and
 * inspected, but not changed.
 *
 * <p>Mappings are copies: later writes do not show in them. Locks exclude within this storage only.
 *
 * <p>Thread safe; one lock over everything, so a single thread sees the same run for the same
 * calls.
 */
public final class CrashableStorage extends CrashableFolder {
  private static final int TRACE_MAX = 1 << 16;

  private final Object mutex = new Object();

  // All below are guarded by mutex.
  private final Directory directory;
  private final Set<CrashableFile> openFiles = new LinkedHashSet<>();

  /** How often each lock file is locked; -1 when it is locked for one alone. */
  private final Map<String, Integer> locks = new HashMap<>();

  private final Faults faults = new Faults();
  private final Deque<String> trace = new ArrayDeque<>();
  private long operationCount;
  private long frozenAt = Long.MAX_VALUE;
  private long capacityBytes = Long.MAX_VALUE;
  private boolean frozen;
  private boolean closed;
  private boolean linksFiles = true;
  private @Nullable Consumer<CrashableStorage> watcher;

  public CrashableStorage() {
    this(new Directory(), Long.MAX_VALUE);
  }

  private CrashableStorage(Directory directory, long capacityBytes) {
    super("");
    this.directory = directory;
    this.capacityBytes = capacityBytes;
  }

  /** One that holds these files for certain, and nothing else. */
  public static CrashableStorage holding(SortedMap<String, byte[]> files) {
    return restarted(files, Long.MAX_VALUE);
  }

  private static CrashableStorage restarted(SortedMap<String, byte[]> files, long capacityBytes) {
    Directory directory = new Directory();
    files.forEach((name, bytes) -> directory.putDurable(name, new Inode(bytes)));
    return new CrashableStorage(directory, capacityBytes);
  }

  // Crashes.

  /** Power loss, with one state out of all legal ones. */
  public CrashableStorage crash(Random random) {
    synchronized (mutex) {
      return restarted(states(0, 0).drawn(random), capacityBytes);
    }
  }

  /** Power loss that takes everything unsynced away. */
  public CrashableStorage crashSyncedOnly() {
    synchronized (mutex) {
      return restarted(states(0, 0).uniform(Verdict.DROPPED), capacityBytes);
    }
  }

  /**
   * Death of the process alone: all that was written is there, but what was unsynced still is, and
   * a power loss later can still take it.
   */
  public CrashableStorage crashKeepingAll() {
    synchronized (mutex) {
      frozen = true;
      return new CrashableStorage(directory.copy(), capacityBytes);
    }
  }

  /** As {@link #crashStates(int, long)} with a fixed seed. */
  public List<CrashableStorage> crashStates(int limit) {
    return crashStates(limit, 0);
  }

  /**
   * All states that a power loss now may leave, or that many drawn ones when there are more. An
   * element is made anew whenever it is asked for, so a loop over the list needs little memory, and
   * an index tells again which state it was.
   */
  public List<CrashableStorage> crashStates(int limit, long seed) {
    synchronized (mutex) {
      CrashStates states = states(limit, seed);
      long capacity = capacityBytes;
      return new AbstractList<>() {
        @Override
        public CrashableStorage get(int index) {
          return restarted(states.get(index), capacity);
        }

        @Override
        public int size() {
          return states.size();
        }
      };
    }
  }

  /**
   * The states that a power loss now may leave: each of them, with every tearing at a multiple of
   * 512 bytes, as far as there are no more than {@code limit}, or else {@code samples} drawn ones.
   */
  public CrashSpace crashSpace(int limit, int samples, long seed) {
    synchronized (mutex) {
      frozen = true;
      return CrashSpace.of(directory, limit, samples, seed);
    }
  }

  /** What is there now, with all that is pending; this one goes on. */
  public CrashableStorage moment() {
    synchronized (mutex) {
      return new CrashableStorage(directory.copy(), capacityBytes);
    }
  }

  /**
   * Shows {@code watcher} a copy of the storage before each operation that changes something, on
   * the thread that is about to do it: all crashes of a run without repeating it for each. Null
   * ends that.
   */
  public void watch(@Nullable Consumer<CrashableStorage> watcher) {
    synchronized (mutex) {
      this.watcher = watcher;
    }
  }

  private CrashStates states(int limit, long seed) {
    frozen = true;
    return new CrashStates(directory, limit, seed);
  }

  /** Stops everything now, as a crash does; the state is asked for later. */
  public void freeze() {
    synchronized (mutex) {
      frozen = true;
    }
  }

  /** Freezes at the n-th operation from now, which is not done any more; the next one is 1. */
  public void freezeAt(long nthOperation) {
    synchronized (mutex) {
      frozenAt = operationCount + nthOperation;
    }
  }

  // Faults. The n-th operation counts from now; the next one is 1.

  public void failNext(Fault fault) {
    failAt(1, fault, false);
  }

  public void failNext(Fault fault, Predicate<Operation> kind) {
    failAt(1, fault, false, kind);
  }

  /** A sticky fault befalls the n-th operation and every one after it. */
  public void failAt(long nthOperation, Fault fault, boolean sticky) {
    failAt(nthOperation, fault, sticky, (operation, name) -> true);
  }

  /** Counts operations of some kinds only. */
  public void failAt(long nthOperation, Fault fault, boolean sticky, Predicate<Operation> kind) {
    failAt(nthOperation, fault, sticky, (operation, name) -> kind.test(operation));
  }

  /** Counts operations of some kinds on some files only; operations on no file have no name: "". */
  public void failAt(
      long nthOperation, Fault fault, boolean sticky, BiPredicate<Operation, String> where) {
    synchronized (mutex) {
      faults.plan(nthOperation, fault, sticky, where);
    }
  }

  public void clearFaults() {
    synchronized (mutex) {
      faults.clear();
    }
  }

  /**
   * A write beyond this sum of file lengths does what fits and fails. Frees by delete, truncate.
   */
  public void capacityBytes(long limit) {
    synchronized (mutex) {
      capacityBytes = limit;
    }
  }

  // What happened, and what is there.

  public long operationCount() {
    synchronized (mutex) {
      return operationCount;
    }
  }

  /** The last operations, at most 65,536, one line each, with the fault that befell it. */
  public List<String> trace() {
    synchronized (mutex) {
      return List.copyOf(trace);
    }
  }

  public void clearTrace() {
    synchronized (mutex) {
      trace.clear();
    }
  }

  /** Names of the files that were not closed yet, as they were opened. */
  public List<String> openFiles() {
    synchronized (mutex) {
      return openFiles.stream().map(CrashableFile::name).toList();
    }
  }

  public long usedBytes() {
    synchronized (mutex) {
      // As on a disk, a deleted file keeps its space until it is closed.
      Set<Inode> inodes = Collections.newSetFromMap(new IdentityHashMap<>());
      inodes.addAll(directory.live().values());
      openFiles.forEach(file -> inodes.add(file.inode()));
      return inodes.stream().mapToLong(inode -> inode.live().length()).sum();
    }
  }

  public byte[] contents(String name) throws IOException {
    synchronized (mutex) {
      return inode(name).live().toBytes();
    }
  }

  // Damage at rest. Not operations: neither counted nor traced.

  /** Changes one byte, given as 0 to 255, both where it is seen and where it is durable. */
  public void corrupt(String name, long offset, IntUnaryOperator change) throws IOException {
    synchronized (mutex) {
      requireChangeable();
      Inode inode = inode(name);
      int index = Math.toIntExact(offset);
      if (index < 0 || index >= inode.live().length()) {
        throw new IllegalArgumentException("no byte at " + offset + " of " + name);
      }
      byte changed = (byte) change.applyAsInt(inode.live().get(index) & 0xff);
      inode.live().set(index, changed);
      if (index < inode.durable().length()) {
        inode.durable().set(index, changed);
      }
    }
  }

  /**
   * Makes this the durable content of the file. When that is absent, it is made, and all names are
   * durable then.
   */
  public void replace(String name, byte[] contents) {
    synchronized (mutex) {
      requireChangeable();
      Inode inode = directory.live().get(StoreFiles.requirePlain(name));
      if (inode == null) {
        directory.syncAll();
        directory.putDurable(name, new Inode(contents));
      } else {
        inode.replace(contents);
      }
    }
  }

  private void requireChangeable() {
    if (frozen) {
      throw new IllegalStateException("crashed");
    }
  }

  // The storage itself, by paths: names prefixed with their folder.

  StorageFile createAt(String path) throws IOException {
    synchronized (mutex) {
      begin(Operation.CREATE, path, path);
      if (directory.live().containsKey(path)) {
        throw new FileAlreadyExistsException(path);
      }
      Inode inode = new Inode(new byte[0]);
      directory.change(null, path, inode);
      return opened(path, inode, true);
    }
  }

  StorageFile openAt(String path, boolean writable) throws IOException {
    synchronized (mutex) {
      begin(Operation.OPEN, path, path + (writable ? " writable" : ""));
      return opened(path, inode(path), writable);
    }
  }

  boolean existsAt(String path) throws IOException {
    synchronized (mutex) {
      requireOpen();
      return directory.live().containsKey(path);
    }
  }

  void renameAt(String source, String target) throws IOException {
    synchronized (mutex) {
      begin(Operation.RENAME, source, source + " " + target);
      Inode inode = inode(source);
      if (!source.equals(target)) {
        directory.change(source, target, inode);
      }
    }
  }

  void deleteAt(String path) throws IOException {
    synchronized (mutex) {
      if (locks.containsKey(path)) {
        throw new IllegalArgumentException("delete of a lock that is held: " + path);
      }
      begin(Operation.DELETE, path, path);
      directory.change(path, null, inode(path));
    }
  }

  List<String> listAt(String folder) throws IOException {
    synchronized (mutex) {
      begin(Operation.LIST, "", folder);
      return directory.namesIn(folder);
    }
  }

  void syncDirectoryAt(String folder) throws IOException {
    synchronized (mutex) {
      if (begin(Operation.SYNC_DIRECTORY, "", folder) == Fault.SYNC_FAILS) {
        directory.forgetPending(folder);
        throw failure(Fault.EIO, "");
      }
      directory.sync(folder);
    }
  }

  /** Makes a directory in a folder of its own, and names it. */
  void nameFolder(String path, String folder) throws IOException {
    synchronized (mutex) {
      begin(Operation.CREATE, path, path);
      directory.change(null, path, new Inode(folder.getBytes(UTF_8)));
    }
  }

  /** One that nothing is in. */
  String freeFolder() {
    synchronized (mutex) {
      Set<String> taken = new HashSet<>();
      directory.live().forEach((path, inode) -> taken.add(CrashableDirectory.folder(path, inode)));
      int number = 1;
      while (taken.contains("#" + number + "/")) {
        number++;
      }
      return "#" + number + "/";
    }
  }

  void linkAt(String source, String target) throws IOException {
    synchronized (mutex) {
      begin(Operation.LINK, source, source + " " + target);
      if (directory.live().containsKey(target)) {
        throw new FileAlreadyExistsException(target);
      }
      directory.change(null, target, inode(source));
    }
  }

  /** Whether files can be linked; from the start they can. */
  public void linksFiles(boolean can) {
    synchronized (mutex) {
      linksFiles = can;
    }
  }

  boolean linksFiles() {
    synchronized (mutex) {
      return linksFiles;
    }
  }

  /** Directories that were made beside this one, sorted, finished or not. */
  public List<String> directories() {
    synchronized (mutex) {
      return directory.namesIn(CrashableDirectory.OUTSIDE);
    }
  }

  /** One of them, as a storage that shares its files, faults and fate with this one. */
  public Storage directory(String name) throws IOException {
    return CrashableDirectory.opened(this, name);
  }

  /** The files of one of them as they are now, for certain. */
  public CrashableStorage detached(String name) throws IOException {
    String folder = new String(contents(CrashableDirectory.OUTSIDE + name), UTF_8);
    SortedMap<String, byte[]> files = new TreeMap<>();
    synchronized (mutex) {
      for (String file : directory.namesIn(folder)) {
        files.put(file, inode(folder + file).live().toBytes());
      }
    }
    return holding(files);
  }

  StorageLock lockAt(String name, boolean shared) throws IOException {
    synchronized (mutex) {
      begin(Operation.LOCK, name, name + (shared ? " shared" : " exclusive"));
      int held = locks.getOrDefault(name, 0);
      if (held < 0 || (held > 0 && !shared)) {
        throw new StoreLockedException("store is open in this process: " + name);
      }
      if (!directory.live().containsKey(name)) {
        // Durable at once: that a crash may lose an empty lock file would only double the states.
        directory.putDurable(name, new Inode(new byte[0]));
      }
      locks.put(name, shared ? held + 1 : -1);
      return new Lock(name);
    }
  }

  @Override
  CrashableStorage whole() {
    return this;
  }

  @Override
  public void close() {
    synchronized (mutex) {
      closed = true;
    }
  }

  private CrashableFile opened(String name, Inode inode, boolean writable) {
    CrashableFile file = new CrashableFile(this, name, inode, writable);
    openFiles.add(file);
    return file;
  }

  // For the files; to be called with the lock held.

  Object mutex() {
    return mutex;
  }

  boolean isOpen(CrashableFile file) throws IOException {
    requireRunning();
    return openFiles.contains(file);
  }

  void forget(CrashableFile file) {
    openFiles.remove(file);
  }

  /** How long the file may become. */
  long lengthMax(Inode inode) {
    if (capacityBytes == Long.MAX_VALUE) {
      return Integer.MAX_VALUE - 8;
    }
    return inode.live().length() + Math.max(0, capacityBytes - usedBytes());
  }

  private Inode inode(String name) throws NoSuchFileException {
    Inode inode = directory.live().get(name);
    if (inode == null) {
      throw new NoSuchFileException(name);
    }
    return inode;
  }

  private void requireRunning() throws IOException {
    if (frozen) {
      throw new IOException("crashed");
    }
  }

  private void requireOpen() throws IOException {
    requireRunning();
    if (closed) {
      throw new IOException("storage is closed: " + location());
    }
  }

  private @Nullable Fault begin(Operation operation, String name, String detail)
      throws IOException {
    requireOpen();
    return beginOnFile(operation, name, detail);
  }

  /** Counts and traces. Returns the fault that the operation must act out itself, if any. */
  @Nullable Fault beginOnFile(Operation operation, String name, String detail) throws IOException {
    if (operationCount + 1 >= frozenAt) {
      frozen = true;
    }
    requireRunning();
    Consumer<CrashableStorage> watching = watcher;
    if (watching != null && operation.changes()) {
      watching.accept(moment());
    }
    operationCount++;
    Fault fault = faults.next(operation, name);
    if (trace.size() == TRACE_MAX) {
      trace.removeFirst();
    }
    String line = detail.isEmpty() ? operation.word() : operation.word() + " " + detail;
    trace.addLast(fault == null ? line : line + " !" + fault);
    if (fault == null) {
      return null;
    }
    boolean syncs = operation == Operation.SYNC || operation == Operation.SYNC_DIRECTORY;
    boolean writesSome = fault == Fault.SHORT_WRITE || fault == Fault.LATE_EIO;
    boolean endsEarly = fault == Fault.EARLY_EOF && operation == Operation.READ;
    if ((writesSome && operation == Operation.WRITE)
        || (fault == Fault.SYNC_FAILS && syncs)
        || endsEarly) {
      return fault;
    }
    throw failure(fault, name);
  }

  static IOException failure(Fault fault, String name) {
    String cause = fault == Fault.ENOSPC ? "No space left on device" : "Input/output error";
    return new IOException(name.isEmpty() ? cause : cause + ": " + name);
  }

  private final class Lock implements StorageLock {
    private final String name;
    private boolean released;

    Lock(String name) {
      this.name = name;
    }

    @Override
    public void close() {
      synchronized (mutex) {
        if (!released) {
          released = true;
          locks.computeIfPresent(name, (key, held) -> held <= 1 ? null : held - 1);
        }
      }
    }
  }
}
