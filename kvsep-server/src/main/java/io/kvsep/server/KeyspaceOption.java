package io.kvsep.server;

import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** In which keyspace of the store a command works. */
final class KeyspaceOption {
  @Option(
      names = "--keyspace",
      paramLabel = "NAME",
      converter = Name.class,
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
    return name == null ? store : store.in(store.keyspace(name));
  }

  /** Loads entries at once, into the keyspace, which is made when there is none. */
  long bulkLoad(KvStore store, Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    return name == null ? store.bulkLoad(entries) : store.bulkLoad(store.keyspace(name), entries);
  }

  private static String existing(KvStore store, String name) {
    if (!store.keyspaces().contains(name)) {
      throw CommandFailure.failed("no such keyspace: " + name);
    }
    return name;
  }

  /** Refuses what no keyspace may be called before a store is made for it. */
  static final class Name implements ITypeConverter<String> {
    private static final int BYTES_MAX = 255;

    @Override
    public String convert(String text) {
      if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
        throw new TypeConversionException(
            "the name of a keyspace is text, this one has half of a surrogate pair");
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
