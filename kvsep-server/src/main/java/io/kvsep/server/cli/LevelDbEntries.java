package io.kvsep.server.cli;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Entries of a LevelDB database, read by the LevelDB for Java, {@code org.iq80.leveldb}. That one
 * recovers and compacts what it opens, so it opens a copy. Hard links would not do: it overwrites
 * tables that a compaction left without finishing.
 */
final class LevelDbEntries implements ForeignEntries {
  private static final Set<String> NOT_COPIED = Set.of("LOCK", "LOG", "LOG.old");

  private final ForeignLibrary library;
  private final WorkDirectory copy;
  private final Iterator<?> entries;
  private long count;

  /**
   * @param library closed by the caller if this throws
   * @param directory the database; it is only read
   * @param parent where the copy is made and deleted; best on the same file system
   */
  LevelDbEntries(ForeignLibrary library, Path directory, Path parent) throws IOException {
    this.library = library;
    copy = library.opened(WorkDirectory.temporaryIn(parent, "kvsep-import-"));
    copyUnlessOpen(directory);
    entries = open();
  }

  private void copyUnlessOpen(Path directory) throws IOException {
    Path lock = directory.resolve("LOCK");
    if (!Files.isWritable(lock)) {
      copy(directory);
      return;
    }
    try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.WRITE)) {
      if (channel.tryLock() == null) {
        throw new OverlappingFileLockException();
      }
      copy(directory);
    } catch (OverlappingFileLockException e) {
      throw CommandFailure.failed(directory + " is open; close it first", e);
    }
  }

  private void copy(Path directory) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, Files::isRegularFile)) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        if (!NOT_COPIED.contains(name)) {
          // The library only knows the older suffix of tables.
          Path target = copy.path().resolve(name.replace(".ldb", ".sst"));
          if (name.endsWith(".log")) {
            LevelDbLog.copy(file, target);
          } else {
            Files.copy(file, target);
          }
        }
      }
    }
  }

  private Iterator<?> open() throws IOException {
    // The library cannot unmap files on newer JDKs.
    System.getProperties().putIfAbsent("leveldb.mmap", "false");
    Class<?> optionsType = library.type("org.iq80.leveldb.Options");
    Object options = library.create(optionsType.getName());
    library.call(library.method(optionsType, "createIfMissing", boolean.class), options, false);
    Class<?> factory = library.type("org.iq80.leveldb.impl.Iq80DBFactory");
    Object opened =
        library.call(
            library.method(factory, "open", File.class, optionsType),
            library.create(factory.getName()),
            copy.path().toFile(),
            options);
    library.opened((Closeable) opened);
    Object iterator = library.call(library.method(Iterable.class, "iterator"), opened);
    library.opened((Closeable) iterator);
    return (Iterator<?>) iterator;
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    byte[] key;
    byte[] value;
    try {
      if (!entries.hasNext()) {
        return null;
      }
      Map.Entry<?, ?> entry = (Map.Entry<?, ?>) entries.next();
      key = (byte[]) entry.getKey();
      value = (byte[]) entry.getValue();
    } catch (RuntimeException | LinkageError e) {
      throw library.failure(e);
    }
    count++;
    EntryFile.checkKey("entry " + count, key);
    return Map.entry(key, value);
  }

  @Override
  public void close() throws IOException {
    library.close();
  }
}
