package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.internal.vlog.LogFixture.Put;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;

/** A log in memory with records to relocate. */
final class RelocationFixture implements AutoCloseable {
  /** A record: the pointer to it with its key, and the value it must give. */
  @SuppressWarnings("ArrayRecordComponent") // never compared as a whole
  record Sample(byte[] pointer, byte[] key, byte[] value) {}

  final LogFixture log = new LogFixture();
  private long sequence = 1;

  Sample put(Put put) throws IOException {
    Indexed entry = log.entries(log.append(sequence++, put)).get(0);
    assertTrue(put.value() != null);
    return new Sample(entry.payload(), entry.key(), put.value());
  }

  Sample put(String key, int length) throws IOException {
    return put(LogFixture.put(key, LogFixture.random(new Random(sequence), length)));
  }

  /** A put of any kind: short or long, compressible or not, with or without expiry. */
  Sample putRandom(Random random, int valueBytesMax) throws IOException {
    byte[] value = LogFixture.random(random, 1 + random.nextInt(valueBytesMax));
    if (random.nextBoolean()) {
      Arrays.fill(value, value.length / 3, value.length, (byte) 'x');
    }
    long expiry = random.nextInt(3) == 0 ? random.nextLong() & Long.MAX_VALUE : Put.NEVER;
    byte[] key = LogFixture.random(random, 1 + random.nextInt(random.nextInt(9) == 0 ? 60_000 : 9));
    return put(new Put(random.nextInt(400), key, value, expiry));
  }

  /** Lets the log go on in a segment, so that all before it are sealed. */
  void startSegment(long id) throws IOException {
    log.startSegment(id);
    log.writer.sync();
  }

  BlobFileWriter writer(Storage storage, long fileId, List<Sample> samples) throws IOException {
    Map<Long, Long> counts = new HashMap<>();
    samples.forEach(sample -> counts.merge(segment(sample), 1L, Long::sum));
    return new BlobFileWriter(storage, LogFixture.STORE, fileId, log.ledger, log.directory, counts);
  }

  /** Copies the records to a new file, in this order, and returns its length. */
  long relocate(long fileId, List<Sample> samples) throws IOException {
    try (BlobFileWriter writer = writer(log.storage, fileId, samples)) {
      for (Sample sample : samples) {
        add(writer, sample);
      }
      long expected = writer.bytes();
      assertEquals(samples.size(), writer.recordCount());
      assertEquals(expected, writer.finish());
      assertEquals(expected, log.contents(fileId).length);
      return expected;
    }
  }

  int add(BlobFileWriter writer, Sample sample) throws IOException {
    byte[] pointer = sample.pointer;
    byte[] key = sample.key;
    Region region = log.ledger.allocate(MemoryPurpose.READ, pointer.length + key.length + 1L);
    EpochSlot<SlotContext> slot = log.epochs.enter();
    try {
      region.put(1, pointer, 0, pointer.length);
      region.put(1 + pointer.length, key, 0, key.length);
      return writer.add(region, 1, region, 1 + pointer.length, key.length);
    } finally {
      log.epochs.exit(slot);
      region.free();
    }
  }

  Segment open(long fileId, long length) {
    return Segment.openRelocated(
        log.storage, LogFixture.STORE, fileId, length, log.epochs, log.ledger);
  }

  /** Lists a relocated file as the home of the segments that the records name. */
  Segment list(long fileId, long length, List<Sample> samples) {
    Segment file = open(fileId, length);
    log.directory.add(file);
    log.directory.addHomes(new TreeSet<>(samples.stream().map(this::segment).toList()), file);
    return file;
  }

  /** Unlists a file, frees and deletes it. */
  void drop(long fileId) throws IOException {
    Segment file = log.directory.unlist(fileId);
    assertTrue(file != null);
    log.epochs.drain();
    file.free();
    log.storage.delete(StoreFiles.segment(fileId));
  }

  void check(Sample sample) {
    assertArrayEquals(sample.value, log.read(sample.pointer, sample.key));
  }

  void check(List<Sample> samples) {
    samples.forEach(this::check);
  }

  CorruptionException checkLost(Sample sample) {
    return assertThrows(CorruptionException.class, () -> log.read(sample.pointer, sample.key));
  }

  long segment(Sample sample) {
    return field(sample, 0);
  }

  long offset(Sample sample) {
    return field(sample, 1);
  }

  int length(Sample sample) {
    return (int) field(sample, 2);
  }

  private long field(Sample sample, int which) {
    Region region = log.ledger.allocate(MemoryPurpose.READ, ValuePointer.BYTES_MAX);
    try {
      region.put(0, sample.pointer, 0, sample.pointer.length);
      return switch (which) {
        case 0 -> ValuePointer.segment(region, 0);
        case 1 -> ValuePointer.offset(region, 0);
        default -> ValuePointer.recordLength(region, 0);
      };
    } finally {
      region.free();
    }
  }

  /** The same record under another name. */
  Sample renamed(Sample sample, long segment, long offset) {
    return new Sample(pointer(segment, offset, length(sample)), sample.key, sample.value);
  }

  byte[] pointer(long segment, long offset, int length) {
    Region region = log.ledger.allocate(MemoryPurpose.READ, ValuePointer.BYTES_MAX);
    try {
      long end = ValuePointer.put(region, 0, segment, offset, length, 1);
      return region.getBytes(0, (int) end);
    } finally {
      region.free();
    }
  }

  void requireAbsent(long fileId) throws IOException {
    assertFalse(log.storage.exists(StoreFiles.segment(fileId)));
  }

  @Override
  public void close() {
    log.close();
  }
}
