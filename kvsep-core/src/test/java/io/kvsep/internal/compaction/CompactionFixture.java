package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A store without log and writers: tables in levels, and the jobs that make them. Each character of
 * a key is one byte, so that strings are ordered as keys are.
 */
final class CompactionFixture implements AutoCloseable {
  static final StoreId STORE = new StoreId(3, 4);

  /** One version of a key; ordered as in a table. */
  record Item(String key, long sequence, int kind, long expiresAtMillis, String value)
      implements Comparable<Item> {
    static Item put(String key, long sequence) {
      return new Item(key, sequence, Tag.PUT, 0, key + "@" + sequence);
    }

    static Item delete(String key, long sequence) {
      return new Item(key, sequence, Tag.DELETE, 0, "");
    }

    static Item expiring(String key, long sequence, long expiresAtMillis) {
      return new Item(key, sequence, Tag.PUT | Tag.EXPIRES, expiresAtMillis, key + "@" + sequence);
    }

    @Override
    public int compareTo(Item other) {
      int order = key.compareTo(other.key);
      return order != 0 ? order : Long.compare(other.sequence, sequence);
    }
  }

  /** A deleted range. */
  record Range(String from, String to, long sequence) {
    boolean covers(String key) {
      return from.compareTo(key) <= 0 && key.compareTo(to) < 0;
    }
  }

  final CrashableStorage storage = new CrashableStorage();
  final MemoryLedger ledger = new MemoryLedger();
  final VersionSet versions;
  final CompactionConfig config;
  long[] boundaries = {1_000_000};
  long nowMillis = 1000;
  PointerRefresh pointers = PointerRefresh.NONE;
  BooleanSupplier cancelled = () -> false;

  CompactionFixture() throws IOException {
    this(new CompactionConfig(2, 4000, 600, 0.25, 1000, new TableOptions(256, 4, 10, true, STORE)));
  }

  CompactionFixture(CompactionConfig config) throws IOException {
    this.config = config;
    this.versions =
        VersionSet.create(
            storage,
            STORE,
            ledger,
            (tables, segments) -> {
              for (TableFile table : tables) {
                table.close();
                delete(StoreFiles.table(table.meta().number()));
              }
            },
            Readers.unbounded());
  }

  private void delete(String name) {
    try {
      if (storage.exists(name)) {
        storage.delete(name);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  JobContext context() {
    return new JobContext(
        storage,
        ledger,
        config,
        versions::newFileNumber,
        boundaries,
        nowMillis,
        pointers,
        cancelled);
  }

  /** A memtable of these entries; the caller frees it. */
  Memtable memtable(Collection<Item> items) {
    return memtable(items, List.of());
  }

  /** A memtable of these entries and deleted ranges; the caller frees it. */
  Memtable memtable(Collection<Item> items, Collection<Range> ranges) {
    long bytes = 64L + 200L * (items.size() + 1);
    for (Item item : items) {
      bytes += 2L * item.key.length();
    }
    for (Range range : ranges) {
      bytes += 200L + range.from.length() + range.to.length();
    }
    Memtable memtable = new Memtable(ledger, bytes, LogPosition.START, 5);
    for (Item item : items) {
      insert(
          memtable, item.key, Tag.of(item.sequence, item.kind), item.expiresAtMillis, item.value);
    }
    List<Range> inOrder = new ArrayList<>(ranges);
    inOrder.sort(Comparator.comparingLong(range -> range.sequence));
    for (Range range : inOrder) {
      insert(memtable, range.from, Tag.of(range.sequence, Tag.RANGE_DELETE), 0, range.to);
    }
    return memtable;
  }

  private void insert(
      Memtable memtable, String keyText, long tag, long expiresAtMillis, String valueText) {
    byte[] key = keyText.getBytes(StandardCharsets.ISO_8859_1);
    byte[] value = valueText.getBytes(StandardCharsets.ISO_8859_1);
    Region region = ledger.allocate(MemoryPurpose.READ, key.length + value.length);
    region.put(0, key, 0, key.length);
    region.put(key.length, value, 0, value.length);
    Entry entry = new Entry();
    entry.keyRegion = region;
    entry.keyLength = key.length;
    entry.tag = tag;
    entry.expiresAtMillis = expiresAtMillis;
    entry.valueRegion = region;
    entry.valueOffset = key.length;
    entry.valueLength = value.length;
    assertTrue(memtable.insert(entry, new Memtable.Splice()));
    region.free();
  }

  List<TableMeta> flush(Collection<Item> items) throws IOException {
    return flush(items, List.of());
  }

  List<TableMeta> flush(Collection<Item> items, Collection<Range> ranges) throws IOException {
    Memtable memtable = memtable(items, ranges);
    try {
      JobContext context = context();
      return FlushJob.run(
          context, memtable.iterator(), memtable.ranges().fragments(context.boundaries()));
    } finally {
      memtable.free();
    }
  }

  /** Tables with exactly these entries, whatever the filter would do, in a level of the store. */
  void add(int level, Collection<Item> items) throws IOException {
    add(level, items, List.of());
  }

  /** As above, with deleted ranges. */
  void add(int level, Collection<Item> items, Collection<Range> ranges) throws IOException {
    long[] asked = boundaries;
    long now = nowMillis;
    // Every version may still be read, and nothing has expired yet.
    boundaries =
        LongStream.concat(
                items.stream().mapToLong(Item::sequence),
                ranges.stream().mapToLong(Range::sequence))
            .sorted()
            .distinct()
            .toArray();
    nowMillis = Long.MIN_VALUE;
    VersionEdit edit = new VersionEdit();
    flush(items, ranges).forEach(meta -> edit.addTable(level, meta));
    versions.apply(edit);
    boundaries = asked;
    nowMillis = now;
  }

  List<Item> items(TableFile table) {
    return items(table.iterator(ledger));
  }

  /** All that an iterator walks over, which is closed then. */
  static List<Item> items(InternalIterator iterator) {
    List<Item> items = new ArrayList<>();
    try (iterator) {
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        int kind = Tag.kind(iterator.tag());
        int header = Payload.headerLength(kind);
        Region payload = iterator.payloadRegion();
        long offset = iterator.payloadOffset();
        items.add(
            new Item(
                text(iterator.keyRegion(), iterator.keyOffset(), iterator.keyLength()),
                Tag.sequence(iterator.tag()),
                kind,
                header == 0 ? 0 : Payload.expiresAtMillis(kind, payload, offset),
                text(payload, offset + header, iterator.payloadLength() - header)));
      }
    }
    return items;
  }

  private static String text(Region region, long offset, int length) {
    return new String(region.getBytes(offset, length), StandardCharsets.ISO_8859_1);
  }

  List<Item> level(int level) {
    List<Item> items = new ArrayList<>();
    versions.current().level(level).forEach(table -> items.addAll(items(table)));
    return items;
  }

  /** Everything that is in the tables of a version, from the newest level to the oldest. */
  List<Item> allItems() {
    List<Item> items = new ArrayList<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      items.addAll(level(level));
    }
    return items;
  }

  /** All ranges that the tables of a version say are deleted, in fragments. */
  List<Range> allRanges() {
    List<Range> ranges = new ArrayList<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : versions.current().level(level)) {
        ranges.addAll(ranges(table.reader().rangeTombstones()));
      }
    }
    return ranges;
  }

  static List<Range> ranges(RangeTombstones tombstones) {
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i < tombstones.count(); i++) {
      for (long sequence : tombstones.sequences(i)) {
        ranges.add(
            new Range(
                new String(tombstones.start(i), StandardCharsets.ISO_8859_1),
                new String(tombstones.end(i), StandardCharsets.ISO_8859_1),
                sequence));
      }
    }
    return ranges;
  }

  /** What a reader gets from entries and deleted ranges in any order; null for nothing. */
  static @Nullable Item visible(
      Collection<Item> items, Collection<Range> ranges, long nowMillis, String key, long reader) {
    Item newest = null;
    for (Item item : items) {
      boolean mayBeSeen = item.key().equals(key) && item.sequence() <= reader;
      if (mayBeSeen && (newest == null || item.sequence() > newest.sequence())) {
        newest = item;
      }
    }
    if (newest == null
        || newest.kind() == Tag.DELETE
        || (Tag.expires(newest.kind()) && newest.expiresAtMillis() <= nowMillis)) {
      return null;
    }
    for (Range range : ranges) {
      boolean deleted = range.sequence() > newest.sequence() && range.sequence() <= reader;
      if (deleted && range.covers(key)) {
        return null;
      }
    }
    return newest;
  }

  /** Names of all tables in the directory. */
  List<String> tableFiles() throws IOException {
    return storage.list().stream().filter(name -> name.endsWith(".sst")).toList();
  }

  /** Fails when memory or an open file is left. */
  @Override
  public void close() {
    for (int level = 0; level < Version.LEVELS; level++) {
      versions.current().level(level).forEach(TableFile::close);
    }
    versions.close();
    assertEquals(0, ledger.totalBytes());
    assertEquals(List.of(), storage.openFiles());
  }
}
