package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of every command on a store, and opening the store. */
final class StoreOptions {
  @Option(
      names = "--dir",
      paramLabel = "DIR",
      defaultValue = "kvsep-data",
      description = "Directory of the store (default: kvsep-data in the current folder).")
  private Path directory = Path.of("kvsep-data");

  private @Nullable HeldStore held;

  Path directory() {
    return directory;
  }

  /** Makes commands on the directory of {@code store} use it. */
  void hold(HeldStore store) {
    held = store;
  }

  /** Never creates or changes anything. */
  KvStore openToRead() {
    requireDirectory();
    HeldStore open = held();
    return open != null
        ? open.open(false)
        : KvStore.open(directory, KvOptions.builder().readOnly(true).build());
  }

  KvStore openExisting(KvOptions.Builder options) {
    requireDirectory();
    HeldStore open = held();
    return open != null
        ? open.open(false)
        : KvStore.open(directory, options.createIfMissing(false).build());
  }

  KvStore openOrCreate(KvOptions.Builder options) {
    if (ClusterArguments.isMarked(directory)) {
      throw CommandFailure.failed(
          directory + " is of a node of a cluster: serve it with --cluster, and use its server");
    }
    HeldStore open = held();
    return open != null ? open.open(true) : KvStore.open(directory, options.build());
  }

  /** Null unless it is the store of this directory. */
  private @Nullable HeldStore held() {
    return held != null && held.directory().equals(directory) ? held : null;
  }

  private void requireDirectory() {
    if (Files.notExists(directory)) {
      throw CommandFailure.failed(
          "no store in " + directory + ": there is no such directory (--dir names another)");
    }
  }
}
