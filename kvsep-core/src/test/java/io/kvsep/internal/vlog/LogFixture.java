package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.FixedMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A log in memory: its storage, its writer, and a reader of its values. */
final class LogFixture implements AutoCloseable {
  static final StoreId STORE = new StoreId(0x1111_2222_3333_4444L, 0x5555_6666_7777_8888L);

  /** One record as a user gave it; null is a delete. */
  @SuppressWarnings("ArrayRecordComponent") // never compared as a whole
  record Put(int keyspace, byte[] key, byte @Nullable [] value, long expiresAtMillis) {
    static final long NEVER = -1;

    int kind() {
      if (value == null) {
        return Tag.DELETE;
      }
      return expiresAtMillis == NEVER ? Tag.PUT : Tag.PUT | Tag.EXPIRES;
    }

    int valueLength() {
      return value == null ? 0 : value.length;
    }

    byte[] storedKey() {
      int prefix = Keyspaces.prefixLength(keyspace);
      byte[] stored = new byte[prefix + key.length];
      Keyspaces.putPrefix(stored, keyspace);
      System.arraycopy(key, 0, stored, prefix, key.length);
      return stored;
    }
  }

  /** An index entry, copied. */
  @SuppressWarnings("ArrayRecordComponent") // never compared as a whole
  record Indexed(byte[] key, long tag, long expiresAtMillis, byte[] payload) {
    boolean isPointer() {
      return Tag.baseKind(Tag.kind(tag)) == Tag.POINTER;
    }
  }

  final CrashableStorage storage;
  final MemoryLedger ledger = new MemoryLedger();
  final Epochs<SlotContext> epochs = new Epochs<>(() -> () -> {});

  /** Lengths of the parts that were loaded. */
  final List<Integer> loads = new ArrayList<>();

  /** Whether what is loaded was not in memory. */
  boolean nothingInMemory;

  /** A longer load meets a page that cannot be read. */
  int loadableBytesMax = Integer.MAX_VALUE;

  private final ColdReadPolicy cold = new ColdReadPolicy(FixedMemory.NONE, this::load);
  final SegmentDirectory directory = new SegmentDirectory(cold);
  final ValueReader reader = new ValueReader(directory);
  final LogWriter writer;
  final ValueReader.Scratch scratch;
  private final StoredValue stored = new StoredValue();
  private final List<Frame> frames = new ArrayList<>();
  int inlineValueBytesMax = 0;
  int compressionBytesMin = Integer.MAX_VALUE;

  LogFixture() {
    this(new CrashableStorage());
  }

  LogFixture(CrashableStorage storage) {
    this(storage, storage);
  }

  /** One whose writer sees the storage as {@code seen}. */
  LogFixture(CrashableStorage storage, Storage seen) {
    this.storage = storage;
    this.writer = new LogWriter(seen, STORE, epochs, ledger);
    this.scratch = new ValueReader.Scratch(ledger);
  }

  static Put put(String key, String value) {
    return new Put(0, bytes(key), bytes(value), Put.NEVER);
  }

  static Put put(String key, byte[] value) {
    return new Put(0, bytes(key), value, Put.NEVER);
  }

  static Put delete(String key) {
    return new Put(0, bytes(key), null, Put.NEVER);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] random(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  /** The log goes on in a new, durable segment. */
  void startSegment(long id) throws IOException {
    Segment segment = writer.createSegment(id);
    writer.syncCreated(segment);
    directory.add(segment);
    writer.switchTo(segment);
  }

  Frame frame(List<Put> puts, boolean inMemory) {
    Frame frame = new Frame(ledger, new Frame.Encoding(inlineValueBytesMax, compressionBytesMin));
    frames.add(frame);
    frame.encode(new Source(puts), inMemory);
    return frame;
  }

  /** Appends one frame and publishes it. */
  Frame append(long firstSequence, Put... puts) throws IOException {
    return append(frame(List.of(puts), true), firstSequence);
  }

  Frame append(Frame frame, long firstSequence) throws IOException {
    writer.begin();
    writer.append(frame, firstSequence, /* alone= */ true);
    writer.publish();
    return frame;
  }

  byte[] contents(long segment) throws IOException {
    return storage.contents(StoreFiles.segment(segment));
  }

  LogScanner scanner(long segment) {
    return LogScanner.open(storage, STORE, segment, 0);
  }

  /** The entries of the current frame of a scanner. */
  List<Indexed> entries(LogScanner scanner) {
    try (FrameEntryReader entries = new FrameEntryReader(ledger, inlineValueBytesMax)) {
      scanner.readInto(entries);
      return copied(entries);
    }
  }

  /** The entries of a frame that was just published. */
  List<Indexed> entries(Frame frame) {
    EpochSlot<SlotContext> slot = epochs.enter();
    try (FrameEntryReader entries = new FrameEntryReader(ledger, inlineValueBytesMax)) {
      frame.readInto(entries, directory);
      return copied(entries);
    } finally {
      epochs.exit(slot);
    }
  }

  private static List<Indexed> copied(FrameEntryReader entries) {
    List<Indexed> all = new ArrayList<>();
    for (Entry entry = entries.next(); entry != null; entry = entries.next()) {
      byte[] payload = new byte[0];
      if (entry.valueLength > 0) {
        assertTrue(entry.valueRegion != null);
        payload = entry.valueRegion.getBytes(entry.valueOffset, entry.valueLength);
      }
      assertTrue(entry.keyRegion != null);
      byte[] key = entry.keyRegion.getBytes(entry.keyOffset, entry.keyLength);
      all.add(new Indexed(key, entry.tag, entry.expiresAtMillis, payload));
    }
    return all;
  }

  /** The value a pointer leads to. */
  byte[] read(Indexed entry) {
    return read(entry.payload, entry.key);
  }

  /** From now on the store does not fit into memory. */
  void beCold() {
    cold.update(1);
  }

  private boolean load(ByteBuffer part) {
    loads.add(part.remaining());
    if (part.remaining() > loadableBytesMax) {
      throw new InternalError("a fault occurred in an unsafe memory access operation");
    }
    return nothingInMemory;
  }

  /** As {@link #read}, of a record that was just loaded. */
  byte[] readLoaded(byte[] pointer, byte[] key) {
    scratch.expectLoaded();
    return read(pointer, key);
  }

  byte[] read(byte[] pointer, byte[] key) {
    Region region = ledger.allocate(MemoryPurpose.READ, pointer.length + key.length + 2L);
    EpochSlot<SlotContext> slot = epochs.enter();
    try {
      region.put(1, pointer, 0, pointer.length);
      region.put(1 + pointer.length, key, 0, key.length);
      reader.read(region, 1, region, 1 + pointer.length, key.length, scratch, stored);
      byte[] value = stored.toArray();
      assertEquals(value.length, stored.length());
      return value.clone();
    } finally {
      epochs.exit(slot);
      region.free();
    }
  }

  /** Checks index entries, and the values they lead to, against what was put. */
  void check(List<Put> puts, long firstSequence, List<Indexed> entries) {
    assertEquals(puts.size(), entries.size());
    for (int i = 0; i < puts.size(); i++) {
      Put put = puts.get(i);
      Indexed entry = entries.get(i);
      assertArrayEquals(put.storedKey(), entry.key);
      assertEquals(firstSequence + i, Tag.sequence(entry.tag));
      assertEquals(Tag.expires(put.kind()), Tag.expires(Tag.kind(entry.tag)));
      if (Tag.expires(put.kind())) {
        assertEquals(put.expiresAtMillis, entry.expiresAtMillis);
      }
      if (put.value == null) {
        assertEquals(Tag.DELETE, Tag.kind(entry.tag));
        assertEquals(0, entry.payload.length);
      } else if (entry.isPointer()) {
        assertTrue(put.value.length > inlineValueBytesMax);
        assertArrayEquals(put.value, read(entry));
      } else {
        assertTrue(put.value.length <= inlineValueBytesMax);
        assertArrayEquals(put.value, entry.payload);
      }
    }
  }

  /** Forgets all segments and knows them again as a new process would. */
  void reopenForReading(boolean sealed, long... ends) {
    epochs.drain();
    directory.free();
    for (int i = 0; i < ends.length; i++) {
      directory.add(segment(i + 1L, ends[i], sealed));
    }
  }

  Segment segment(long id, long end, boolean sealed) {
    return Segment.open(storage, STORE, id, end, sealed, epochs, ledger);
  }

  /** Fails when memory or an open file is left. */
  @Override
  public void close() {
    epochs.drain();
    frames.forEach(Frame::close);
    scratch.close();
    writer.free();
    directory.free();
    epochs.free();
    assertEquals(0, ledger.totalBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  /** Records from a list, handed out as parts of larger arrays. */
  private static final class Source extends RecordSource {
    private final List<Put> puts;
    private int next;

    Source(List<Put> puts) {
      this.puts = puts;
    }

    @Override
    public void rewind() {
      next = 0;
    }

    @Override
    public boolean next() {
      if (next == puts.size()) {
        return false;
      }
      Put put = puts.get(next++);
      keyspace = put.keyspace;
      kind = put.kind();
      keyOffset = 2;
      keyLength = put.key.length;
      key = shifted(put.key, keyOffset);
      value = put.value == null ? null : shifted(put.value, 3);
      valueOffset = 3;
      valueLength = put.valueLength();
      expiresAtMillis = put.expiresAtMillis;
      return true;
    }

    private static byte[] shifted(byte[] bytes, int by) {
      byte[] shifted = new byte[by + bytes.length + 1];
      Arrays.fill(shifted, (byte) 0x77);
      System.arraycopy(bytes, 0, shifted, by, bytes.length);
      return shifted;
    }

    @Override
    public int recordCount() {
      return puts.size();
    }

    @Override
    public long payloadBytes() {
      return puts.stream().mapToLong(put -> (long) put.key.length + put.valueLength()).sum();
    }
  }
}
