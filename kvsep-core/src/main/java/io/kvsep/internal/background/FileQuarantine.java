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
 * Files of an open store that compaction and reclaim leave alone, because something in them cannot
 * be read: another try would fail again, and keep those from their turn that can be done. Damage is
 * forgotten when the store is closed; what the device refused, when it gives it again. Thread safe.
 */
public final class FileQuarantine {
  /** What was found, by the number of the table. */
  private final Map<Long, KvException> tables = new ConcurrentHashMap<>();

  /** Tables that the device does not give, and why; by their numbers. */
  private final Map<Long, KvException> unreadableTables = new ConcurrentHashMap<>();

  private final Set<Long> logFiles = ConcurrentHashMap.newKeySet();

  /** The file that does not hold; null when the error is another one. */
  private static @Nullable String damagedFile(Throwable error) {
    if (error instanceof CorruptionException corruption) {
      return corruption.file();
    }
    return error instanceof IncompatibleFormatException incompatible ? incompatible.file() : null;
  }

  /** Spares the file that an error names, if it names one that can be spared; whether it does. */
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

  /** Spares one of the tables if the error is damage in it; whether it is. */
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
   * Spares the file that an error names, unless it is one of the {@code known}; whether it does.
   */
  public boolean spareAnother(KvException error, List<String> known) {
    String file = damagedFile(error);
    return file != null && !known.contains(file) && spare(error);
  }

  /** Spares a file of the log that the device does not let anybody read. */
  public void spareUnreadable(long file) {
    logFiles.add(file);
    Warnings.tell("unreadable, and left: ", StoreFiles.segment(file));
  }

  /** Undoes {@link #spareUnreadable}. */
  public void release(Set<Long> files) {
    logFiles.removeAll(files);
  }

  /** Spares a table that the device does not let anybody read, until {@link #forgetUnreadable}. */
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

  /** The unreadable tables of a version that is in force; those that are gone are forgotten. */
  Set<TableFile> unreadableTablesIn(Version version) {
    Set<TableFile> there = tablesIn(version, unreadableTables.keySet());
    Set<Long> numbers = new HashSet<>();
    there.forEach(table -> numbers.add(table.meta().number()));
    unreadableTables.keySet().retainAll(numbers);
    return there;
  }

  /** After the table could be read. */
  void forgetUnreadable(TableFile table) {
    unreadableTables.remove(table.meta().number());
  }

  /** Tables of a version that are spared. */
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

  /** What was found in a table of a version; null when nothing was in any. */
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

  /** Files of the log that reclaim is to leave alone, with those it must not touch otherwise. */
  public Set<Long> logFilesAnd(Set<Long> others) {
    Set<Long> files = new HashSet<>(logFiles);
    files.addAll(others);
    return files;
  }

  /** Of all of them, those included that are gone meanwhile. */
  public List<String> names() {
    return names(logFiles, tableNumbers());
  }

  /** Of those that a version has. */
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
