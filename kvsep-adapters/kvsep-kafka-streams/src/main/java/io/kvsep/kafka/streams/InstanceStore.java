package io.kvsep.kafka.streams;

import io.kvsep.Durability;
import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.kvsep.error.KvException;
import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileVisitOption;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one store of a Streams instance. The first of its state stores opens it, the last one that
 * closes closes it. A store that failed is thus opened again once all tasks have closed theirs.
 *
 * <p>Each state store has a keyspace with a random name, kept in a file in the directory of its
 * task ({@link TaskKeyspace#FILE_NAME}). Kafka deletes that directory when it wants the state gone;
 * no file then names the keyspace, and the next opening drops it, unless a directory cannot be
 * read.
 *
 * <p>Thread safe.
 */
final class InstanceStore {
  /** Holds what {@link TaskKeyspace} knows about each keyspace beside its data. */
  private static final String META_KEYSPACE = "meta";

  private static final int TASK_DEPTH = 5;
  private static final Logger LOG = LoggerFactory.getLogger(InstanceStore.class);
  private static final Object LOCK = new Object();

  /** By directory; guarded by LOCK. */
  private static final Map<Path, InstanceStore> OPEN = new HashMap<>();

  private final Path directory;
  private final Path stateDirectory;
  private final KvStore store;
  private final Keyspace meta;
  private final Durability commitDurability;

  /** Guarded by LOCK. */
  private int users;

  private InstanceStore(StoreSettings settings) {
    directory = settings.directory();
    stateDirectory = settings.stateDirectory();
    commitDurability = settings.commitDurability();
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new ProcessorStateException("cannot create " + directory, e);
    }
    store = KvStore.open(directory, settings.options());
    try {
      meta = store.keyspace(META_KEYSPACE);
      dropOrphans();
    } catch (RuntimeException | Error e) {
      store.close();
      throw e;
    }
  }

  /** Opens the store unless it is open; {@link #release} must follow. */
  static InstanceStore acquire(StoreSettings settings) {
    synchronized (LOCK) {
      InstanceStore instance = OPEN.get(settings.directory());
      if (instance == null) {
        try {
          instance = new InstanceStore(settings);
        } catch (KvException e) {
          throw new ProcessorStateException("cannot open " + settings.directory(), e);
        }
        OPEN.put(settings.directory(), instance);
      } else if (!instance.stateDirectory.equals(settings.stateDirectory())) {
        throw new ConfigException(
            KvsepStores.DIRECTORY_CONFIG,
            settings.directory(),
            "is in use with the state directory "
                + instance.stateDirectory
                + "; another one would lose its state at the next start: "
                + settings.stateDirectory());
      }
      instance.users++;
      return instance;
    }
  }

  void release() {
    synchronized (LOCK) {
      if (--users == 0) {
        OPEN.remove(directory);
        try {
          store.close();
        } catch (KvException e) {
          throw new ProcessorStateException("closing " + directory, e);
        }
      }
    }
  }

  KvStore store() {
    return store;
  }

  Keyspace meta() {
    return meta;
  }

  /** Writes the batch that ends a commit. */
  void commit(WriteBatch batch) {
    store.write(batch, commitDurability);
  }

  /** Ends a commit that was written otherwise. */
  void committed() {
    if (commitDurability.equals(Durability.sync())) {
      store.sync();
    }
  }

  /**
   * Deletes a keyspace, and then what the shared one has about it: a crash between repeats both.
   */
  void clear(String name) {
    LOG.info("Dropping keyspace {} of {}: it was not closed cleanly", name, directory);
    store.dropKeyspace(store.keyspace(name));
    store.write(TaskKeyspace.deleteMeta(new WriteBatch().in(meta), name));
  }

  private void dropOrphans() {
    Set<String> named = new HashSet<>();
    try {
      Files.walkFileTree(
          stateDirectory,
          EnumSet.of(FileVisitOption.FOLLOW_LINKS),
          TASK_DEPTH,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                throws IOException {
              if (attributes.isSymbolicLink()) {
                throw new NoSuchFileException(file.toString(), null, "what the link points to");
              }
              String name =
                  file.endsWith(TaskKeyspace.FILE_NAME) ? TaskKeyspace.readName(file) : null;
              if (name != null) {
                named.add(name);
              }
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
              // Other stores create and delete files meanwhile.
              if (e instanceof NoSuchFileException || e instanceof FileSystemLoopException) {
                return FileVisitResult.CONTINUE;
              }
              throw e;
            }
          });
    } catch (IOException | ProcessorStateException e) {
      LOG.warn("Not dropping keyspaces of {}: tasks may have them", directory, e);
      return;
    }
    for (String name : store.keyspaces()) {
      if (TaskKeyspace.isName(name) && !named.contains(name)) {
        LOG.info("Dropping keyspace {} of {}: no task has it any more", name, directory);
        // First and synced, so that a keyspace without data never has offsets.
        store.write(TaskKeyspace.deleteMeta(new WriteBatch().in(meta), name), Durability.sync());
        store.dropKeyspace(store.keyspace(name));
      }
    }
  }

  /** {@return the store in a directory, null if it is not open} For tests. */
  static @Nullable KvStore openIn(Path directory) {
    synchronized (LOCK) {
      InstanceStore instance = OPEN.get(directory.toAbsolutePath().normalize());
      return instance == null ? null : instance.store;
    }
  }
}
