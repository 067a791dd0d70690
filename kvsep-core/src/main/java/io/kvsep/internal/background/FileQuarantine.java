package io.kvsep.internal.background;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.internal.base.Warnings;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Files that compaction or reclaim found damaged or unreadable. Both skip them until the store is
 * reopened: another attempt would fail again and block the files that are sound. Thread safe.
 */
public final class FileQuarantine {
  /** The problem of each file, by name. */
  private final Map<String, KvException> files = new ConcurrentHashMap<>();

  /** Quarantines a file; the first problem of a file is kept. */
  public void add(String file, KvException problem) {
    if (files.putIfAbsent(file, problem) == null) {
      Warnings.tell("left as it is until the store is reopened: ", problem.getMessage());
    }
  }

  /**
   * Quarantines the table or segment that an error calls damaged; returns whether there is one.
   *
   * @param accepts whether a file may be quarantined for this error, by name
   */
  public boolean addDamaged(Throwable error, Predicate<String> accepts) {
    String file = damagedFile(error);
    StoreFiles.Kind kind = file == null ? StoreFiles.Kind.OTHER : StoreFiles.kindOf(file);
    boolean isHeld = kind == StoreFiles.Kind.TABLE || kind == StoreFiles.Kind.SEGMENT;
    if (file == null || !isHeld || !accepts.test(file)) {
      return false;
    }
    add(file, (KvException) error);
    return true;
  }

  /** Null if the error is not about damage. */
  private static @Nullable String damagedFile(Throwable error) {
    if (error instanceof CorruptionException corruption) {
      return corruption.file();
    }
    return error instanceof IncompatibleFormatException incompatible ? incompatible.file() : null;
  }

  /** Numbers of the quarantined files of a kind. */
  public Set<Long> numbers(StoreFiles.Kind kind) {
    return files.keySet().stream()
        .filter(file -> StoreFiles.kindOf(file) == kind)
        .map(StoreFiles::numberOf)
        .collect(Collectors.toCollection(HashSet::new));
  }

  Set<TableFile> tablesIn(Version version) {
    Set<TableFile> found = new LinkedHashSet<>();
    if (files.isEmpty()) {
      return found;
    }
    Set<Long> numbers = numbers(StoreFiles.Kind.TABLE);
    for (int level = 0; level < Version.LEVELS && !numbers.isEmpty(); level++) {
      for (TableFile table : version.tables(level)) {
        if (numbers.contains(table.meta().number())) {
          found.add(table);
        }
      }
    }
    return found;
  }

  private static String name(TableFile table) {
    return StoreFiles.table(table.meta().number());
  }

  /** The problem of one of the version's quarantined tables, null if it has none. */
  @Nullable KvException foundIn(Version version) {
    return tablesIn(version).stream().map(table -> files.get(name(table))).findFirst().orElse(null);
  }

  /** All names, including those of files that no longer exist. */
  public Set<String> names() {
    return Set.copyOf(files.keySet());
  }

  public List<String> namesIn(Version version) {
    Set<String> names = new TreeSet<>();
    tablesIn(version).forEach(table -> names.add(name(table)));
    numbers(StoreFiles.Kind.SEGMENT).stream()
        .filter(segment -> version.segments().containsKey(segment))
        .forEach(segment -> names.add(StoreFiles.segment(segment)));
    return List.copyOf(names);
  }
}
