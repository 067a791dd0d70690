package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.VersionEdit.AddedKeyspace;
import io.kvsep.internal.version.VersionEdit.AddedTable;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a version must say, kept in the simplest collections: tables and segments by number,
 * keyspaces by name. Also makes edits that fit. Two states are equal when their texts are.
 */
final class FileSetModel {
  private final TreeMap<Long, AddedTable> tables = new TreeMap<>();
  private final TreeMap<Long, Long> segments = new TreeMap<>();

  /** Files that are homes, of the segments that have moved. */
  private final TreeMap<Long, Long> homes = new TreeMap<>();

  private final TreeSet<Long> relocated = new TreeSet<>();
  private final TreeMap<String, Integer> keyspaces = new TreeMap<>();
  private int nextKeyspace = 1;
  private long lastSequence;
  private LogPosition replayFrom = LogPosition.START;

  FileSetModel copy() {
    FileSetModel copy = new FileSetModel();
    copy.tables.putAll(tables);
    copy.segments.putAll(segments);
    copy.homes.putAll(homes);
    copy.relocated.addAll(relocated);
    copy.keyspaces.putAll(keyspaces);
    copy.nextKeyspace = nextKeyspace;
    copy.lastSequence = lastSequence;
    copy.replayFrom = replayFrom;
    return copy;
  }

  FileSetModel apply(VersionEdit edit) {
    edit.removedTables().forEach(table -> tables.remove(table.number()));
    edit.addedTables().forEach(table -> tables.put(table.meta().number(), table));
    edit.addedSegments().forEach(id -> segments.put(id, -1L));
    edit.sealedSegments().forEach(segment -> segments.put(segment.id(), segment.length()));
    for (SealedSegment file : edit.addedRelocated()) {
      segments.put(file.id(), file.length());
      relocated.add(file.id());
    }
    edit.relocations().forEach(move -> homes.put(move.segment(), move.file()));
    edit.removedSegments().forEach(this::removeSegment);
    for (AddedKeyspace added : edit.addedKeyspaces()) {
      keyspaces.put(added.name(), added.id());
      nextKeyspace = Math.max(nextKeyspace, added.id() + 1);
    }
    edit.droppedKeyspaces().forEach(keyspaces.values()::remove);
    lastSequence = edit.lastSequence().orElse(lastSequence);
    LogPosition position = edit.replayFrom();
    replayFrom = position == null ? replayFrom : position;
    return this;
  }

  FileSetModel after(VersionEdit edit) {
    return copy().apply(edit);
  }

  TreeMap<Long, AddedTable> tables() {
    return tables;
  }

  private void removeSegment(long id) {
    segments.remove(id);
    homes.remove(id);
    relocated.remove(id);
  }

  /** Ids of the segments that have a file. */
  Set<Long> segmentFiles() {
    Set<Long> files = new TreeSet<>(segments.keySet());
    files.removeAll(homes.keySet());
    return files;
  }

  /** An edit that fits, with a few changes of any kind. */
  VersionEdit edit(Random random, LongSupplier fileNumbers, LongSupplier segmentIds) {
    FileSetModel after = copy();
    VersionEdit edit = new VersionEdit();
    int changes = 1 + random.nextInt(4);
    for (int i = 0; i < changes; i++) {
      switch (random.nextInt(11)) {
        case 0 -> addSegment(random, edit, after, segmentIds.getAsLong());
        case 1 -> removeTable(random, edit, after);
        case 2 -> moveTable(random, edit, after);
        case 3 -> removeDeadSegment(edit, after);
        case 4 -> addKeyspace(random, edit, after);
        case 5 -> dropKeyspace(random, edit, after);
        case 10 -> relocate(random, edit, after, segmentIds.getAsLong());
        case 6 -> {
          after.lastSequence += random.nextInt(1000);
          after.replayFrom = new LogPosition(after.replayFrom.segment() + 1, random.nextInt(1000));
          edit.lastSequence(after.lastSequence).replayFrom(after.replayFrom);
        }
        default -> addTable(random, edit, after, fileNumbers.getAsLong());
      }
    }
    return edit;
  }

  String text() {
    StringBuilder text = new StringBuilder();
    for (int level = 0; level < Version.LEVELS; level++) {
      List<TableMeta> metas = new ArrayList<>();
      long bytes = 0;
      for (AddedTable table : tables.values()) {
        if (table.level() == level) {
          metas.add(table.meta());
          bytes += table.meta().fileBytes();
        }
      }
      metas.sort(
          level == 0
              ? Comparator.comparingLong(TableMeta::number).reversed()
              : (a, b) -> Arrays.compareUnsigned(a.smallestKey(), b.smallestKey()));
      text.append("level ").append(level).append(' ').append(bytes).append('\n');
      metas.forEach(meta -> append(text, meta));
    }
    long total = 0;
    for (long id : segments.keySet()) {
      long live = liveBytes(id);
      total += live;
      text.append("segment ").append(id).append(' ').append(segments.get(id)).append(' ');
      text.append(homes.getOrDefault(id, id)).append(' ').append(relocated.contains(id));
      text.append(' ').append(live).append('\n');
    }
    text.append(tables.size()).append(" tables, ").append(total).append(" live\n");
    text.append(replayFrom).append(' ').append(lastSequence).append('\n');
    return text.append(keyspaces).append(' ').append(nextKeyspace).append('\n').toString();
  }

  static String text(Version version) {
    StringBuilder text = new StringBuilder();
    for (int level = 0; level < Version.LEVELS; level++) {
      text.append("level ").append(level).append(' ').append(version.levelBytes(level));
      text.append('\n');
      version.level(level).forEach(table -> append(text, table.meta()));
    }
    version
        .segments()
        .forEach(
            (id, state) ->
                text.append("segment ")
                    .append(state.id())
                    .append(' ')
                    .append(state.sealedLength())
                    .append(' ')
                    .append(state.home())
                    .append(' ')
                    .append(state.relocated())
                    .append(' ')
                    .append(version.liveBytes(id))
                    .append('\n'));
    text.append(version.tableCount()).append(" tables, ").append(version.liveBytes());
    text.append(" live\n").append(version.replayFrom()).append(' ');
    text.append(version.lastSequence()).append('\n');
    text.append(version.keyspaces()).append(' ').append(version.nextKeyspace());
    return text.append('\n').toString();
  }

  static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  /** A table whose other facts follow from its number. */
  static TableMeta meta(long number, byte[] smallest, byte[] largest, SegmentUse... uses) {
    return new TableMeta(
        number,
        number * 100 + 1,
        smallest,
        largest,
        number,
        number + 7,
        number + 20,
        number % 20,
        number % 7 % 4,
        number % 3,
        number * 300,
        number % 5,
        number % 5 == 0 ? 0 : number * 900,
        number % 5 == 0 ? 0 : number * 1000,
        List.of(uses));
  }

  private static void append(StringBuilder text, TableMeta meta) {
    HexFormat hex = HexFormat.of();
    text.append("  ").append(meta.number()).append(' ').append(meta.fileBytes()).append(' ');
    text.append(hex.formatHex(meta.smallestKey())).append(' ');
    text.append(hex.formatHex(meta.largestKey())).append(' ');
    text.append(meta.smallestSequence()).append(' ').append(meta.largestSequence()).append(' ');
    text.append(meta.entryCount()).append(' ').append(meta.tombstoneCount()).append(' ');
    text.append(meta.hiddenCount()).append(' ');
    text.append(meta.keyBytes()).append(' ').append(meta.expiringCount()).append(' ');
    text.append(meta.expiresAtMillisMin())
        .append(' ')
        .append(meta.expiresAtMillisMax())
        .append(' ');
    text.append(meta.segments()).append('\n');
  }

  private long liveBytes(long segment) {
    long live = 0;
    for (AddedTable table : tables.values()) {
      for (SegmentUse use : table.meta().segments()) {
        live += use.segment() == segment ? use.liveBytes() : 0;
      }
    }
    return live;
  }

  private static void addSegment(Random random, VersionEdit edit, FileSetModel after, long id) {
    edit.addSegment(id);
    after.segments.put(id, -1L);
    for (long other : List.copyOf(after.segments.keySet())) {
      if (other != id && after.segments.getOrDefault(other, 0L) < 0) {
        long length = random.nextInt(1 << 20);
        edit.sealSegment(other, length, 0);
        after.segments.put(other, length);
      }
    }
  }

  private void addKeyspace(Random random, VersionEdit edit, FileSetModel after) {
    String name = "keyspace-" + random.nextInt(12);
    if (!keyspaces.containsKey(name) && !after.keyspaces.containsKey(name)) {
      // Some ids are left out, as by an edit that failed.
      int id = after.nextKeyspace + (random.nextInt(4) == 0 ? random.nextInt(300) : 0);
      edit.addKeyspace(id, name);
      after.keyspaces.put(name, id);
      after.nextKeyspace = id + 1;
    }
  }

  private void dropKeyspace(Random random, VersionEdit edit, FileSetModel after) {
    List<String> names = new ArrayList<>(keyspaces.keySet());
    names.retainAll(after.keyspaces.keySet());
    if (!names.isEmpty()) {
      String name = names.get(random.nextInt(names.size()));
      edit.dropKeyspace(Objects.requireNonNull(after.keyspaces.remove(name)));
    }
  }

  private static void addTable(Random random, VersionEdit edit, FileSetModel after, long number) {
    int level = random.nextInt(Version.LEVELS);
    int smallest = random.nextInt(1 << 20);
    int largest = smallest + random.nextInt(1 << 14);
    List<SegmentUse> uses = new ArrayList<>();
    for (long segment : after.segments.keySet()) {
      if (random.nextInt(3) == 0) {
        uses.add(new SegmentUse(segment, 1 + random.nextInt(5000), 1 + random.nextInt(50)));
      }
    }
    TableMeta meta = meta(number, key(smallest), key(largest), uses.toArray(new SegmentUse[0]));
    if (after.fits(level, meta)) {
      edit.addTable(level, meta);
      after.tables.put(number, new AddedTable(level, meta));
    }
  }

  private void removeTable(Random random, VersionEdit edit, FileSetModel after) {
    AddedTable table = anyUntouched(random, edit);
    if (table != null) {
      after.tables.remove(table.meta().number());
      edit.removeTable(table.level(), table.meta().number());
    }
  }

  private void moveTable(Random random, VersionEdit edit, FileSetModel after) {
    AddedTable table = anyUntouched(random, edit);
    if (table == null) {
      return;
    }
    long number = table.meta().number();
    int level = 1 + random.nextInt(Version.LEVELS - 1);
    if (level != table.level() && after.fits(level, table.meta())) {
      edit.removeTable(table.level(), number).addTable(level, table.meta());
      after.tables.put(number, new AddedTable(level, table.meta()));
    }
  }

  private void removeDeadSegment(VersionEdit edit, FileSetModel after) {
    for (long id : segments.keySet()) {
      if (after.segments.getOrDefault(id, -1L) >= 0
          && after.liveBytes(id) == 0
          && !after.homes.containsValue(id)) {
        edit.removeSegment(id);
        after.removeSegment(id);
        return;
      }
    }
  }

  /** Moves what is at home in some sealed files into a new one. */
  private static void relocate(Random random, VersionEdit edit, FileSetModel after, long file) {
    Set<Long> victims = after.segmentFiles();
    victims.removeIf(id -> after.segments.getOrDefault(id, -1L) < 0 || random.nextInt(3) > 0);
    if (victims.isEmpty()) {
      return;
    }
    long length = 1L + random.nextInt(1 << 20);
    edit.addRelocated(file, length);
    after.segments.put(file, length);
    after.relocated.add(file);
    for (long id : List.copyOf(after.segments.keySet())) {
      if (victims.contains(after.homes.getOrDefault(id, id))) {
        edit.relocateSegment(id, file);
        after.homes.put(id, file);
      }
    }
  }

  private @Nullable AddedTable anyUntouched(Random random, VersionEdit edit) {
    TreeMap<Long, AddedTable> untouched = new TreeMap<>(tables);
    edit.removedTables().forEach(table -> untouched.remove(table.number()));
    List<AddedTable> choice = List.copyOf(untouched.values());
    return choice.isEmpty() ? null : choice.get(random.nextInt(choice.size()));
  }

  private boolean fits(int level, TableMeta meta) {
    return level == 0
        || tables.values().stream()
            .filter(other -> other.level() == level)
            .map(AddedTable::meta)
            .allMatch(
                other ->
                    Arrays.compareUnsigned(other.largestKey(), meta.smallestKey()) < 0
                        || Arrays.compareUnsigned(meta.largestKey(), other.smallestKey()) < 0);
  }
}
