package io.kvsep.leveldb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ValueCompression;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.KvException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.error.StoreNotFoundException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBFactory;
import org.iq80.leveldb.Options;
import org.jspecify.annotations.Nullable;

/**
 * Opens kvsep stores as LevelDB databases, in place of {@code Iq80DBFactory} and {@code
 * JniDBFactory}. Thread safe. Files of LevelDB are not read: {@code kvsep import --from leveldb}
 * copies them into a store.
 *
 * <pre>{@code
 * try (DB db = KvsepDBFactory.factory.open(new File("data"), new Options())) {
 *   db.put(key, value);
 *   try (DBIterator iterator = db.iterator()) {
 *     while (iterator.hasNext()) {
 *       use(iterator.next());
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p>What an open database does, where it is not what the interface says:
 *
 * <ul>
 *   <li>Keys have 1 to 65,535 bytes and values up to 1 GiB; a call with others throws {@link
 *       org.iq80.leveldb.DBException} and changes nothing. A null throws {@link
 *       NullPointerException}.
 *   <li>A write without {@code sync} survives the end of the process, and after about a second a
 *       power failure. {@code sync(true)} returns when the write, and all before it, are on stable
 *       storage.
 *   <li>A snapshot that a write returns may see later writes of other threads, too.
 *   <li>An iterator stands between two entries, at first before the first one. {@code seekToLast}
 *       moves it behind the last one, which {@code prev} then returns. It sees the state at its
 *       creation and is not thread safe; everything else is.
 *   <li>{@code compactRange} compacts the whole store, whatever the range.
 *   <li>{@code getApproximateSizes} counts recent writes that are still in memory, too.
 *   <li>{@code suspendCompactions} throws {@link UnsupportedOperationException}: a directory that
 *       is copied while it is open is no valid store. {@link #store} has a checkpoint for that.
 *       {@code resumeCompactions} does nothing.
 *   <li>{@code getProperty} knows {@code leveldb.stats}, {@code leveldb.approximate-memory-usage}
 *       and {@code leveldb.num-files-at-level<N>}, and is null for others.
 * </ul>
 *
 * <p>Every error of the store is a {@link org.iq80.leveldb.DBException} with a {@link KvException}
 * as its cause, which says what state the store is in. So is any use of a database, snapshot or
 * iterator after it was closed; closing again does nothing. A database may be closed before its
 * iterators and snapshots.
 */
public final class KvsepDBFactory implements DBFactory {
  /** A factory that sizes memory by LevelDB's options, see {@link #open}. */
  public static final KvsepDBFactory factory = new KvsepDBFactory();

  private static final long MEMORY_BUDGET_MIN = 16L << 20;

  /** A memtable takes a sixth of the budget. */
  private static final int MEMTABLES_IN_BUDGET = 6;

  private static final String DAMAGED = ".damaged";
  private static final String REPAIRED = ".repaired";

  private static final Pattern FILE_OF_STORE =
      Pattern.compile("(CURRENT|LOCK|MANIFEST-\\d{6,}|\\d{6,}\\.(sst|vlog))(\\.tmp)?");

  /** The first characters of the magic numbers of all files of a store, in either case. */
  private static final String MAGIC = "kvsep";

  private final @Nullable Supplier<KvOptions.Builder> ownOptions;

  /** Creates a factory like {@link #factory}. */
  public KvsepDBFactory() {
    ownOptions = null;
  }

  /**
   * Creates a factory that opens stores with options of kvsep, such as shared memory and threads
   * ({@link KvOptions.Builder#resources}). Of LevelDB's options only {@code createIfMissing} and
   * {@code errorIfExists} count then.
   *
   * @param options gives a new builder for each call
   */
  public KvsepDBFactory(Supplier<KvOptions.Builder> options) {
    ownOptions = options;
  }

  /**
   * Opens or creates a database.
   *
   * <p>{@code createIfMissing} and {@code errorIfExists} mean what they say. {@code
   * compressionType} {@code NONE} turns the compression of values off, {@code SNAPPY} means LZ4. If
   * {@code cacheSize} or {@code writeBufferSize} is not the default, the memory budget is {@code
   * cacheSize} and six times {@code writeBufferSize}, at least 16 MiB; otherwise that of {@link
   * KvOptions.Builder#memoryBudgetBytes}. The others have no effect; checksums are always verified.
   *
   * @param path the directory
   * @param options the options
   * @return the open database; the caller closes it
   * @throws UnsupportedOperationException if the options have a comparator: keys are ordered as
   *     unsigned bytes
   * @throws IllegalArgumentException if {@code path} is not a directory and cannot become one, or
   *     {@code errorIfExists} is set without {@code createIfMissing}
   * @throws IOException with a {@link KvException} as its cause: the database is missing or exists
   *     against the options, is open already, is damaged, or the device failed; without one, if a
   *     repair was interrupted before the new database was in its place
   */
  @Override
  public DB open(File path, Options options) throws IOException {
    if (options.comparator() != null) {
      throw new UnsupportedOperationException(
          "kvsep orders keys as unsigned bytes; it has no comparators, such as "
              + options.comparator().name());
    }
    KvOptions.Builder builder = ownOptions == null ? sized(options) : ownOptions.get();
    KvOptions kvOptions =
        builder
            .createIfMissing(options.createIfMissing())
            .exclusive(options.errorIfExists())
            .build();
    Path directory = path.toPath();
    requireRepairEnded(directory);
    requireDirectory(directory, options.createIfMissing());
    try {
      return new KvsepDB(KvStore.open(directory, kvOptions));
    } catch (StoreNotFoundException e) {
      throw new IOException("Database '" + path + "' does not exist (createIfMissing is false)", e);
    } catch (KvException e) {
      throw failure(e);
    }
  }

  private static KvOptions.Builder sized(Options options) {
    KvOptions.Builder builder = KvOptions.builder();
    if (options.compressionType() == CompressionType.NONE) {
      builder.valueCompression(ValueCompression.NONE);
    }
    boolean isDefault =
        options.cacheSize() == 0 && options.writeBufferSize() == new Options().writeBufferSize();
    return isDefault ? builder : builder.memoryBudgetBytes(budgetBytes(options));
  }

  private static long budgetBytes(Options options) {
    long wanted = options.cacheSize() + (long) MEMTABLES_IN_BUDGET * options.writeBufferSize();
    return Math.max(MEMORY_BUDGET_MIN, wanted);
  }

  private static void requireDirectory(Path directory, boolean create) {
    try {
      if (create) {
        Files.createDirectories(directory);
      }
    } catch (FileAlreadyExistsException e) {
      // Told below.
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "Database directory '" + directory + "' does not exist and could not be created", e);
    }
    if (Files.exists(directory) && !Files.isDirectory(directory)) {
      throw new IllegalArgumentException(
          "Database directory '" + directory + "' is not a directory");
    }
  }

  /**
   * Deletes a database, also a damaged one, and its directory. Files that kvsep has not written
   * stay, and then the directory, too. Of a damaged database a file without content is deleted, and
   * one that begins with kvsep's magic number. Does nothing if the directory is missing or empty.
   *
   * @param path the directory
   * @param options not used
   * @throws IOException if the database is open, if the directory holds only files of others, such
   *     as those of LevelDB (nothing was deleted), if damaged files stay because they may be those
   *     of others, or if files could not be deleted
   */
  @Override
  public void destroy(File path, Options options) throws IOException {
    Path directory = path.toPath();
    try {
      KvStore.open(directory, KvOptions.builder().readOnly(true).build()).close();
      delete(directory, filesOfStore(directory));
    } catch (StoreNotFoundException e) {
      // Nothing to delete.
    } catch (CorruptionException e) {
      destroyDamaged(directory, e);
    } catch (KvException e) {
      throw failure(e);
    }
  }

  private static void destroyDamaged(Path directory, CorruptionException damage)
      throws IOException {
    // Other engines have files of the same names.
    List<Path> own = new ArrayList<>();
    List<Path> unknown = new ArrayList<>();
    boolean isStore = false;
    for (Path file : filesOfStore(directory)) {
      boolean hasMagic = !isLock(file) && hasMagic(file);
      isStore |= hasMagic;
      (hasMagic || isLock(file) || Files.size(file) == 0 ? own : unknown).add(file);
    }
    if (!isStore) {
      throw failure(damage);
    }
    requireClosed(directory);
    delete(directory, own);
    if (!unknown.isEmpty()) {
      throw new IOException("not deleted, because they may not be files of kvsep: " + unknown);
    }
  }

  /**
   * A damaged CURRENT is found before the lock is tried. A copy takes the lock first; here it then
   * fails, because its target exists. Locking the file here would end a lock of this process.
   */
  private static void requireClosed(Path directory) throws IOException {
    Path taken = directory.toRealPath().getParent();
    try {
      KvStore.copy(directory, taken == null ? directory : taken);
    } catch (StoreLockedException e) {
      throw failure(e);
    } catch (KvException e) {
      // Damaged, or the target exists.
    }
  }

  private static List<Path> filesOfStore(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.filter(
              file -> FILE_OF_STORE.matcher(name(file)).matches() && Files.isRegularFile(file))
          .toList();
    }
  }

  /** The lock of this process would end with a channel of the file. */
  private static boolean isLock(Path file) {
    return name(file).equals("LOCK");
  }

  private static boolean hasMagic(Path file) throws IOException {
    try (InputStream content = Files.newInputStream(file)) {
      byte[] start = content.readNBytes(MAGIC.length());
      return MAGIC.equalsIgnoreCase(new String(start, ISO_8859_1));
    }
  }

  private static void delete(Path directory, List<Path> files) throws IOException {
    // While CURRENT is there, the rest is a damaged store, which can be destroyed again.
    Path current = directory.resolve("CURRENT");
    for (Path file : files) {
      if (!file.equals(current)) {
        Files.delete(file);
      }
    }
    try {
      if (files.contains(current)) {
        Files.delete(current);
      }
      Files.delete(directory);
    } catch (DirectoryNotEmptyException e) {
      // Files of others.
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString();
  }

  /**
   * Replaces a damaged database by a new one with everything in it that can be verified, as {@link
   * KvStore#repair(Path, Path)} says. The damaged one stays beside it under the name {@code
   * <path>.damaged}. Needs space for both.
   *
   * @param path the directory
   * @param options not used
   * @throws IOException if {@code <path>.damaged} or {@code <path>.repaired} exists, the database
   *     is open, there is no trace of one, or the device failed; the database is unchanged, except
   *     that it is at {@code <path>.damaged} if the exception has a suppressed one
   */
  @Override
  public void repair(File path, Options options) throws IOException {
    Path directory = path.toPath();
    Path damaged = beside(directory, DAMAGED);
    Path repaired = beside(directory, REPAIRED);
    for (Path wanted : List.of(damaged, repaired)) {
      if (Files.exists(wanted)) {
        throw new FileAlreadyExistsException(wanted.toString());
      }
    }
    if (Files.notExists(directory)) {
      throw new NoSuchFileException(directory.toString());
    }
    try {
      KvStore.repair(directory, repaired);
    } catch (KvException e) {
      throw failure(e);
    }
    replace(directory, damaged, repaired);
  }

  static void replace(Path directory, Path damaged, Path repaired) throws IOException {
    Files.move(directory, damaged);
    try {
      Files.move(repaired, directory);
    } catch (IOException e) {
      try {
        Files.move(damaged, directory);
      } catch (IOException again) {
        e.addSuppressed(again);
      }
      throw e;
    }
  }

  private static void requireRepairEnded(Path directory) throws IOException {
    if (Files.notExists(directory)
        && Files.exists(beside(directory, DAMAGED))
        && Files.exists(beside(directory, REPAIRED))) {
      throw new IOException(
          "The repair of '"
              + directory
              + "' was interrupted; move '"
              + beside(directory, REPAIRED)
              + "' there");
    }
  }

  private static Path beside(Path directory, String suffix) {
    Path absolute = directory.toAbsolutePath();
    return absolute.resolveSibling(absolute.getFileName() + suffix);
  }

  /**
   * {@return the store behind a database, for what LevelDB's interface lacks, such as {@link
   * KvStore#checkpoint} and {@link KvStore#stats()}} It ends with the database.
   *
   * @param database an open database of any of these factories
   * @throws IllegalArgumentException if it is a database of others
   */
  public static KvStore store(DB database) {
    if (database instanceof KvsepDB own) {
      return own.store();
    }
    throw new IllegalArgumentException("not a database of kvsep: " + database);
  }

  /**
   * {@return the text in UTF-8, null for null} As in the factories of LevelDB.
   *
   * @param value the text
   */
  public static byte @Nullable [] bytes(@Nullable String value) {
    return value == null ? null : value.getBytes(UTF_8);
  }

  /**
   * {@return the text that the bytes are in UTF-8, null for null} As in the factories of LevelDB.
   *
   * @param value the bytes
   */
  public static @Nullable String asString(byte @Nullable [] value) {
    return value == null ? null : new String(value, UTF_8);
  }

  private static IOException failure(KvException e) {
    return new IOException(e.getMessage(), e);
  }

  @Override
  public String toString() {
    return "kvsep";
  }
}
