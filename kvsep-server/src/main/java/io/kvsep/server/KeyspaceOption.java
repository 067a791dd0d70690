package io.kvsep.server;

import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** In which keyspace of the store a command works. */
final class KeyspaceOption {
  @Option(
      names = "--keyspace",
      paramLabel = "NAME",
      description = "Work in the keyspace NAME instead of the store's own.")
  private @Nullable String name;

  KvReader reader(KvStore store) {
    return name == null ? store : store.in(store.keyspace(existing(store, name)));
  }

  /** As {@link #reader}, to write to. */
  KvWriter writer(KvStore store) {
    return name == null ? store : store.in(store.keyspace(existing(store, name)));
  }

  /** Makes the keyspace when there is none. */
  KvWriter writerOrNew(KvStore store) {
    try {
      return name == null ? store : store.in(store.keyspace(name));
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused("--keyspace: " + e.getMessage());
    }
  }

  /** Loads entries at once, into the keyspace, which is made when there is none. */
  long bulkLoad(KvStore store, Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    if (name == null) {
      return store.bulkLoad(entries);
    }
    try {
      return store.bulkLoad(store.keyspace(name), entries);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused("--keyspace: " + e.getMessage());
    }
  }

  private static String existing(KvStore store, String name) {
    if (!store.keyspaces().contains(name)) {
      throw CommandFailure.failed("no such keyspace: " + name);
    }
    return name;
  }
}
