package io.kvsep.server.cli;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which engine's database is imported. */
final class ForeignOptions {
  private enum Engine {
    LEVELDB("LevelDB", "org.iq80.leveldb:leveldb:0.12:jar:uber"),
    ROCKSDB("RocksDB", "org.rocksdb:rocksdbjni");

    private final String text;
    private final String artifact;

    Engine(String text, String artifact) {
      this.text = text;
      this.artifact = artifact;
    }
  }

  @Option(
      names = "--from",
      paramLabel = "ENGINE",
      description = "leveldb or rocksdb: FILE is the directory of such a database.")
  private @Nullable Engine engine;

  @Option(
      names = "--class-path",
      paramLabel = "JARS",
      description = "Jars of that engine, separated as in a class path of Java.")
  private @Nullable String classPath;

  @Option(
      names = "--column-family",
      paramLabel = "NAME",
      description = "Which column family of a RocksDB database that has more than one.")
  private @Nullable String family;

  boolean isGiven() {
    if (engine == null && (classPath != null || family != null)) {
      throw CommandFailure.misused("--class-path and --column-family need --from");
    }
    if (engine == Engine.LEVELDB && family != null) {
      throw CommandFailure.misused("--column-family is for --from rocksdb");
    }
    return engine != null;
  }

  /**
   * Opens the database; nothing in its directory changes.
   *
   * @param parent of directories that are needed meanwhile; created if missing
   */
  ForeignEntries open(Path directory, Path parent) throws IOException {
    Engine from = Objects.requireNonNull(engine, "engine");
    if (classPath == null) {
      throw CommandFailure.misused(
          "--from needs --class-path with the library of "
              + from.text
              + ", in Maven "
              + from.artifact);
    }
    if (!Files.isRegularFile(directory.resolve("CURRENT"))) {
      throw CommandFailure.failed("no database of " + from.text + " in " + directory);
    }
    List<Path> jars =
        Arrays.stream(classPath.split(File.pathSeparator))
            .filter(jar -> !jar.isEmpty())
            .map(Path::of)
            .toList();
    ForeignLibrary library = new ForeignLibrary(from.text, jars);
    try {
      return switch (from) {
        case LEVELDB -> new LevelDbEntries(library, directory, Files.createDirectories(parent));
        case ROCKSDB -> new RocksDbEntries(library, directory, family);
      };
    } catch (Throwable e) {
      try {
        library.close();
      } catch (Throwable again) {
        e.addSuppressed(again);
      }
      throw e;
    }
  }

  /** Length of all files of the directory: about what is read. */
  static long bytes(Path directory) throws IOException {
    long bytes = 0;
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, Files::isRegularFile)) {
      for (Path file : files) {
        bytes += Files.size(file);
      }
    }
    return bytes;
  }
}
