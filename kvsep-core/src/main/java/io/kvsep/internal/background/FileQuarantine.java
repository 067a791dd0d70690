package io.kvsep.internal.background;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.internal.base.Warnings;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Files of an open store that compaction and reclaim skip because they cannot be read: another
 * attempt would fail again and block the files that are sound. Damaged files and unreadable
 * segments stay until the store is closed, unreadable tables until the device can read them. Thread
 * safe.
 */
public final class FileQuarantine {
  /** Damaged tables, by number. */
  private final Map<Long, KvException> tables = new ConcurrentHashMap<>();

  /** Tables that the device fails to read, by number. */
  private final Map<Long, KvException> unreadableTables = new ConcurrentHashMap<>();

  private final Set<Long> logFiles = ConcurrentHashMap.newKeySet();

  /** Null if the error is not about damage. */
  private static @Nullable String damagedFile(Throwable error) {
    if (error instanceof CorruptionException corruption) {
      return corruption.file();
    }
    return error instanceof IncompatibleFormatException incompatible ? incompatible.file() : null;
  }

  /** Quarantines the file that an error names; false if it names none that can be. */
  boolean spare(KvException error) {
    String file = damagedFile(error);
    StoreFiles.Kind kind = file == null ? StoreFiles.Kind.OTHER : StoreFiles.kindOf(file);
    boolean added;
    if (file != null && kind == StoreFiles.Kind.TABLE) {
      added = tables.putIfAbsent(StoreFiles.numberOf(file), error) == null;
    } else if (file != null && kind == StoreFiles.Kind.SEGMENT) {
      added = logFiles.add(StoreFiles.numberOf(file));
    } else {
      return false;
    }
    if (added) {
      Warnings.tell("damaged, and left as it is: ", error.getMessage());
    }
    return true;
  }

  /** Quarantines the candidate that the error names as damaged; false if it names none. */
  boolean spareOneOf(List<TableFile> candidates, Throwable error) {
    String file = damagedFile(error);
    for (TableFile table : candidates) {
      if (StoreFiles.table(table.meta().number()).equals(file)) {
        return error instanceof KvException damage && spare(damage);
      }
    }
    return false;
  }

  /**
   * Quarantines the file that an error names, unless it is {@code known}; returns whether it did.
   */
  public boolean spareAnother(KvException error, List<String> known) {
    String file = damagedFile(error);
    return file != null && !known.contains(file) && spare(error);
  }

  /** Quarantines a segment that the device fails to read. */
  public void spareUnreadable(long file) {
    logFiles.add(file);
    Warnings.tell("unreadable, and left: ", StoreFiles.segment(file));
  }

  /** Quarantines a table that the device fails to read, until {@link #forgetUnreadable}. */
  public void spareUnreadable(TableFile table, KvException cause) {
    long number = table.meta().number();
    boolean added = unreadableTables.put(number, cause) == null;
    if (added) {
      Warnings.tell("unreadable, and left for now: ", StoreFiles.table(number));
    }
  }

  boolean hasUnreadableTables() {
    return !unreadableTables.isEmpty();
  }

  /** The unreadable tables of the current version; others are forgotten. */
  Set<TableFile> unreadableTablesIn(Version version) {
    Set<TableFile> there = tablesIn(version, unreadableTables.keySet());
    Set<Long> numbers = new HashSet<>();
    there.forEach(table -> numbers.add(table.meta().number()));
    unreadableTables.keySet().retainAll(numbers);
    return there;
  }

  void forgetUnreadable(TableFile table) {
    unreadableTables.remove(table.meta().number());
  }

  Set<TableFile> tablesIn(Version version) {
    if (tables.isEmpty() && unreadableTables.isEmpty()) {
      return Set.of();
    }
    return tablesIn(version, tableNumbers());
  }

  public Set<Long> tableNumbers() {
    Set<Long> numbers = new HashSet<>(tables.keySet());
    numbers.addAll(unreadableTables.keySet());
    return numbers;
  }

  private static Set<TableFile> tablesIn(Version version, Set<Long> numbers) {
    Set<TableFile> found = new LinkedHashSet<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        if (numbers.contains(table.meta().number())) {
          found.add(table);
        }
      }
    }
    return found;
  }

  /** The problem of one of the version's quarantined tables, null if it has none. */
  @Nullable KvException foundIn(Version version) {
    for (TableFile table : tablesIn(version)) {
      KvException damage = tables.get(table.meta().number());
      KvException found = damage == null ? unreadableTables.get(table.meta().number()) : damage;
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** Segments that reclaim skips: the quarantined ones and {@code others}. */
  public Set<Long> logFilesAnd(Set<Long> others) {
    Set<Long> files = new HashSet<>(logFiles);
    files.addAll(others);
    return files;
  }

  /** All names, including those of files that no longer exist. */
  public List<String> names() {
    return names(logFiles, tableNumbers());
  }

  public List<String> namesIn(Version version) {
    Set<Long> segments = new HashSet<>(logFiles);
    segments.retainAll(version.segments().keySet());
    Set<Long> numbers = new HashSet<>();
    tablesIn(version).forEach(table -> numbers.add(table.meta().number()));
    return names(segments, numbers);
  }

  private static List<String> names(Set<Long> segments, Set<Long> numbers) {
    List<String> names = new ArrayList<>();
    segments.forEach(id -> names.add(StoreFiles.segment(id)));
    numbers.forEach(number -> names.add(StoreFiles.table(number)));
    Collections.sort(names);
    return names;
  }
}
