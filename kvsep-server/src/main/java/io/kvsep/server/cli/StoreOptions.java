package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The options of every command on a store, and opening the store. */
final class StoreOptions {
  @Option(
      names = "--dir",
      paramLabel = "DIR",
      defaultValue = "kvsep-data",
      description = "Directory of the store (default: kvsep-data in the current folder).")
  private Path directory = Path.of("kvsep-data");

  Path directory() {
    return directory;
  }

  /** Never creates or changes anything. */
  KvStore openToRead() {
    requireDirectory();
    return KvStore.open(directory, KvOptions.builder().readOnly(true).build());
  }

  KvStore openExisting(KvOptions.Builder options) {
    requireDirectory();
    return KvStore.open(directory, options.createIfMissing(false).build());
  }

  KvStore openOrCreate(KvOptions.Builder options) {
    return KvStore.open(directory, options.build());
  }

  private void requireDirectory() {
    if (Files.notExists(directory)) {
      throw CommandFailure.failed(
          "no store in " + directory + ": there is no such directory (--dir names another)");
    }
  }
}
