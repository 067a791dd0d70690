package io.kvsep.server.cli;

import io.kvsep.Keyspace;
import io.kvsep.KeyspaceView;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The keyspace that a command works in. */
final class KeyspaceOption {
  @Option(
      names = "--keyspace",
      paramLabel = "NAME",
      converter = Name.class,
      description = "Work in the keyspace NAME instead of the store's own.")
  private @Nullable String name;

  /** Every keyspace by name; that of the store itself comes first, under the empty name. */
  static Map<String, KvReader> all(KvStore store) {
    Map<String, KvReader> readers = new LinkedHashMap<>();
    readers.put("", store);
    for (String name : store.keyspaces()) {
      readers.put(name, store.in(store.keyspace(name)));
    }
    return readers;
  }

  boolean isGiven() {
    return name != null;
  }

  /** The name that was given; empty for the store's own keyspace. */
  String name() {
    return name == null ? "" : name;
  }

  KvReader reader(KvStore store) {
    return name == null ? store : store.in(store.keyspace(existing(store, name)));
  }

  /** Throws if the keyspace does not exist. */
  KeyspaceView writer(KvStore store) {
    return name == null ? store : store.in(store.keyspace(existing(store, name)));
  }

  /** Creates the keyspace if it does not exist; null for the store's own. */
  @Nullable Keyspace keyspaceOrNew(KvStore store) {
    return name == null ? null : store.keyspace(name);
  }

  /** Creates the keyspace if it does not exist. */
  KeyspaceView writerOrNew(KvStore store) {
    return name == null ? store : store.in(store.keyspace(name));
  }

  /**
   * Creates the keyspace if it does not exist.
   *
   * @param own name of the keyspace that the entries bring, null for that of the option
   */
  long bulkLoad(
      KvStore store, @Nullable String own, Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    String target = own == null ? name : own;
    return target == null
        ? store.bulkLoad(entries)
        : store.bulkLoad(store.keyspace(target), entries);
  }

  private static String existing(KvStore store, String name) {
    if (!store.keyspaces().contains(name)) {
      throw CommandFailure.failed("no such keyspace: " + name);
    }
    return name;
  }

  /** Refuses invalid names before a store is created. */
  static final class Name implements ITypeConverter<String> {
    private static final int BYTES_MAX = 255;

    @Override
    public String convert(String text) {
      if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
        throw new TypeConversionException(
            "the name of a keyspace is text, this one has half of a surrogate pair");
      }
      if (KeyNotation.isLossy(text)) {
        throw new TypeConversionException("the name" + KeyNotation.lost());
      }
      int length = text.getBytes(StandardCharsets.UTF_8).length;
      if (length == 0 || length > BYTES_MAX) {
        throw new TypeConversionException(
            "the name of a keyspace takes 1 to " + BYTES_MAX + " bytes in UTF-8");
      }
      return text;
    }
  }
}
