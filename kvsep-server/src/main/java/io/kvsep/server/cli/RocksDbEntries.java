package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Entries of a column family of a RocksDB database, read by {@code rocksdbjni}. */
final class RocksDbEntries implements ForeignEntries {
  private static final String DEFAULT = "default";

  private final ForeignLibrary library;
  private final Object iterator;
  private final Method isValid;
  private final Method key;
  private final Method value;
  private final Method advance;
  private final Method status;
  private long count;

  /**
   * @param library closed by the caller if this throws
   * @param directory the database; it is only read
   * @param family null for the default one, which is then the only one
   */
  RocksDbEntries(ForeignLibrary library, Path directory, @Nullable String family)
      throws IOException {
    this.library = library;
    Class<?> database = library.type("org.rocksdb.RocksDB");
    library.call(library.method(database, "loadLibrary"), null);
    requireFamily(database, directory, family);
    iterator = iterator(database, directory, family == null ? DEFAULT : family);
    Class<?> type = iterator.getClass();
    isValid = library.method(type, "isValid");
    key = library.method(type, "key");
    value = library.method(type, "value");
    advance = library.method(type, "next");
    status = library.method(type, "status");
    library.call(library.method(type, "seekToFirst"), iterator);
  }

  private void requireFamily(Class<?> database, Path directory, @Nullable String family)
      throws IOException {
    Class<?> optionsType = library.type("org.rocksdb.Options");
    Object options = opened(library.create(optionsType.getName()));
    Object found =
        library.call(
            library.method(database, "listColumnFamilies", optionsType, String.class),
            null,
            options,
            directory.toString());
    List<String> names = new ArrayList<>();
    for (Object name : (List<?>) found) {
      names.add(new String((byte[]) name, UTF_8));
    }
    if (family == null && names.size() > 1) {
      throw CommandFailure.failed(
          "the database has column families: " + names + "; name one with --column-family");
    }
    if (family != null && !names.contains(family)) {
      throw CommandFailure.failed("no such column family: " + family + "; there are " + names);
    }
  }

  private Object iterator(Class<?> database, Path directory, String family) throws IOException {
    Class<?> optionsType = library.type("org.rocksdb.DBOptions");
    List<Object> families = new ArrayList<>();
    for (String name : family.equals(DEFAULT) ? List.of(DEFAULT) : List.of(DEFAULT, family)) {
      families.add(
          library.create(
              "org.rocksdb.ColumnFamilyDescriptor", List.of(byte[].class), name.getBytes(UTF_8)));
    }
    List<Object> handles = new ArrayList<>();
    Object options = opened(library.create(optionsType.getName()));
    Class<?> modeType = library.type("org.rocksdb.WALRecoveryMode");
    Method modeOf = library.method(modeType, "valueOf", String.class);
    // By default RocksDB leaves out what follows damage of its log, or a merge operand.
    library.call(
        library.method(optionsType, "setWalRecoveryMode", modeType),
        options,
        library.call(modeOf, null, "TolerateCorruptedTailRecords"));
    Object db =
        opened(
            library.call(
                library.method(
                    database, "openReadOnly", optionsType, String.class, List.class, List.class),
                null,
                options,
                directory.toString(),
                families,
                handles));
    handles.forEach(this::opened);
    Class<?> handleType = library.type("org.rocksdb.ColumnFamilyHandle");
    Object handle = handles.get(handles.size() - 1);
    return opened(library.call(library.method(database, "newIterator", handleType), db, handle));
  }

  private Object opened(Object resource) {
    return library.opened((AutoCloseable) resource);
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    if (count > 0) {
      library.call(advance, iterator);
    }
    if (!(Boolean) library.call(isValid, iterator)) {
      // Throws if this is not the end but an error.
      library.call(status, iterator);
      return null;
    }
    count++;
    byte[] found = (byte[]) library.call(key, iterator);
    EntryFile.checkKey("entry " + count, found);
    return Map.entry(found, (byte[]) library.call(value, iterator));
  }

  @Override
  public void close() throws IOException {
    library.close();
  }
}
