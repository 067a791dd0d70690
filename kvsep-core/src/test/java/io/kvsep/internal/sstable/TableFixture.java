package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;

/** A storage in memory with tables in it, and the memory the tests work with. */
final class TableFixture implements AutoCloseable {
  static final StoreId STORE = new StoreId(0x1111_2222_3333_4444L, 0x5555_6666_7777_8888L);

  /** One entry on the heap. Ordered as in a table. */
  @SuppressWarnings("ArrayRecordComponent") // equality is by content, see equals
  record Entry(byte[] key, long tag, byte[] payload) implements Comparable<Entry> {
    @Override
    public int compareTo(Entry other) {
      int order = Arrays.compareUnsigned(key, other.key);
      return order != 0 ? order : Long.compare(other.tag, tag);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Entry that && compareTo(that) == 0;
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(key) * 31 + Long.hashCode(tag);
    }

    @Override
    public String toString() {
      String hex = HexFormat.of().formatHex(key, 0, Math.min(key.length, 40));
      return hex + "(" + key.length + ")@" + Tag.sequence(tag);
    }
  }

  final CrashableStorage storage = new CrashableStorage();
  final MemoryLedger ledger = new MemoryLedger();
  final Lookup lookup = new Lookup(ledger);

  static Entry put(String key, long sequence, String value) {
    return new Entry(bytes(key), Tag.of(sequence, Tag.PUT), bytes(value));
  }

  static Entry delete(String key, long sequence) {
    return new Entry(bytes(key), Tag.of(sequence, Tag.DELETE), new byte[0]);
  }

  Entry pointer(String key, long sequence, long segment, long offset, int recordLength) {
    int length = ValuePointer.encodedLength(segment, offset, recordLength, recordLength / 2);
    Region region = ledger.allocate(MemoryPurpose.READ, length);
    try {
      ValuePointer.put(region, 0, segment, offset, recordLength, recordLength / 2);
      return new Entry(bytes(key), Tag.of(sequence, Tag.POINTER), region.getBytes(0, length));
    } finally {
      region.free();
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static TableOptions options(int blockBytes, int restartInterval) {
    return options(blockBytes, restartInterval, /* packsBlocks= */ false);
  }

  static TableOptions options(int blockBytes, int restartInterval, boolean packsBlocks) {
    return new TableOptions(blockBytes, restartInterval, 10, packsBlocks, STORE);
  }

  TableMeta write(long number, TableOptions options, Collection<Entry> entries) throws IOException {
    return write(storage, number, options, entries);
  }

  TableMeta write(Storage target, long number, TableOptions options, Collection<Entry> entries)
      throws IOException {
    try (TableWriter writer =
        new TableWriter(target.create(StoreFiles.table(number)), number, options, ledger)) {
      for (Entry entry : entries) {
        add(writer, entry);
      }
      return writer.finish();
    }
  }

  void add(TableWriter writer, Entry entry) {
    Region key = region(entry.key);
    Region payload = region(entry.payload);
    try {
      writer.add(key, 1, entry.key.length, entry.tag, payload, 1, entry.payload.length);
    } finally {
      key.free();
      payload.free();
    }
  }

  TableReader open(TableMeta meta) throws IOException {
    return TableReader.open(storage, meta, STORE, Readers.unbounded(ledger));
  }

  /**
   * What a table says about itself.
   *
   * @throws CorruptionException with the first thing that does not hold, wherever in the table
   */
  TableMeta properties(long number) {
    List<CorruptionException> problems = new ArrayList<>();
    TableMeta properties = null;
    TableCheck table = TableCheck.open(storage, number, STORE, ledger, problems::add);
    if (table != null) {
      try (table) {
        table.run((offset, key, length, tag, region, payload, payloadLength) -> {}, () -> {});
        properties = table.properties();
      }
    }
    if (!problems.isEmpty()) {
      throw problems.get(0);
    }
    return Objects.requireNonNull(properties);
  }

  /** The bytes from offset 1 on, so that no code can rely on an offset of zero. */
  Region region(byte[] bytes) {
    Region region = ledger.allocate(MemoryPurpose.READ, bytes.length + 1);
    region.put(1, bytes, 0, bytes.length);
    return region;
  }

  /** Looks a key up; the result is in {@link #lookup}. */
  boolean get(TableReader table, byte[] key, long seekTag) {
    return get(table, key, seekTag, /* last= */ false);
  }

  /** As {@link #get}, of a table below which there is none. */
  boolean getLast(TableReader table, byte[] key, long seekTag) {
    return get(table, key, seekTag, /* last= */ true);
  }

  private boolean get(TableReader table, byte[] key, long seekTag, boolean last) {
    Region region = region(key);
    try {
      long hash = KeyHash.of(region, 1, key.length);
      return last
          ? table.getLast(region, 1, key.length, hash, seekTag, lookup)
          : table.get(region, 1, key.length, hash, seekTag, lookup);
    } finally {
      region.free();
    }
  }

  byte[] found() {
    Region region = lookup.payloadRegion;
    assertTrue(region != null);
    return region.getBytes(lookup.payloadOffset, lookup.payloadLength);
  }

  void seek(InternalIterator iterator, byte[] key, long tag) {
    Region region = region(key);
    try {
      iterator.seek(region, 1, key.length, tag);
    } finally {
      region.free();
    }
  }

  void seekBefore(InternalIterator iterator, byte[] key, long tag) {
    Region region = region(key);
    try {
      iterator.seekBefore(region, 1, key.length, tag);
    } finally {
      region.free();
    }
  }

  static Entry current(InternalIterator iterator) {
    return new Entry(
        iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength()),
        iterator.tag(),
        iterator.payloadRegion().getBytes(iterator.payloadOffset(), iterator.payloadLength()));
  }

  static void assertSame(Entry expected, Entry found) {
    assertEquals(expected, found);
    assertArrayEquals(expected.payload, found.payload);
  }

  /** Fails when memory is left. */
  @Override
  public void close() {
    storage.close();
    assertEquals(0, ledger.totalBytes());
  }
}
