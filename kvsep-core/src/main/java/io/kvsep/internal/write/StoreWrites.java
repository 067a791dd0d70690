package io.kvsep.internal.write;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Expiry;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.ScratchBudget;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.read.UserBytes;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.RecordSource;
import java.util.Arrays;
import java.util.Set;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * The writing half of an engine: checks limits, encodes a write on the caller's thread and hands it
 * to the commit pipeline. Thread safe. Every call is inside a slot, which holds its commit buffers
 * and which closing waits for.
 */
public final class StoreWrites {
  /** In place of a sequence number: nothing was written, since something read has changed. */
  public static final long CONFLICT = -1;

  private static final long STREAMED_BYTES_MIN = 1 << 20;
  private static final long STREAMED_RECORD_BYTES_MIN = 4 << 10;

  private final EngineConfig config;
  private final MemoryLedger ledger;
  private final CommitPipeline pipeline;
  private final IntervalSyncs syncs;
  private final StoreReads reads;
  private final Epochs<WriteRequest> slots;
  private final ScratchBudget memory;
  private volatile boolean closed;

  public StoreWrites(
      EngineConfig config,
      MemoryLedger ledger,
      CommitPipeline pipeline,
      IntervalSyncs syncs,
      StoreReads reads) {
    this.config = config;
    this.ledger = ledger;
    this.pipeline = pipeline;
    this.syncs = syncs;
    this.reads = reads;
    EngineConfig.Shape shape = config.shape();
    this.memory =
        new ScratchBudget(shape.commitBytesMax(), shape.keptBytesMax(), shape.frameRetainedBytes());
    this.slots = new Epochs<>(this::newRequest);
  }

  /**
   * Sets the key.
   *
   * @param timeToLiveMillis 0 for no end; the negative of a moment is that moment
   * @return the sequence number of the entry
   */
  public long put(int keyspace, byte[] key, byte[] value, long timeToLiveMillis) {
    ReadContext.checkKeyLength(key.length);
    WriteBuffer.checkValueLength(value.length);
    boolean expires = timeToLiveMillis != 0;
    long expiry = expires ? Expiry.at(config.clock().millis(), timeToLiveMillis) : 0;
    return commitSingle(keyspace, expires ? Tag.PUT | Tag.EXPIRES : Tag.PUT, key, value, expiry);
  }

  public void delete(int keyspace, byte[] key) {
    ReadContext.checkKeyLength(key.length);
    commitSingle(keyspace, Tag.DELETE, key, null, 0);
  }

  /** Deletes [{@code from}, {@code to}); an empty or reversed range deletes nothing. */
  public void deleteRange(int keyspace, byte[] from, byte[] to) {
    WriteBuffer.checkBoundLength(from);
    WriteBuffer.checkBoundLength(to);
    if (Arrays.compareUnsigned(from, to) >= 0) {
      exit(enter());
      return;
    }
    commitSingle(keyspace, Tag.RANGE_DELETE, from, Keyspaces.storedKey(keyspace, to), 0);
  }

  /**
   * Deletes everything in a keyspace that is being dropped; durable on return.
   *
   * @param restores whether a restore drops it
   */
  void deleteAll(int keyspace, boolean restores) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      request.prepare(/* withSync= */ true);
      request.keyspace = keyspace;
      request.dropsKeyspace = true;
      request.restores = restores;
      request.single.set(keyspace, Tag.RANGE_DELETE, new byte[0], Keyspaces.end(keyspace), 0);
      encode(request, request.single);
      pipeline.commit(request);
    } finally {
      finish(slot);
    }
  }

  /**
   * Allocates nothing, unless the thread has to ask for {@link DeferredPageFaults}, or the entry is
   * too large for the commit buffers.
   */
  public void put(int keyspace, BytesStore<?, ?> key, BytesStore<?, ?> value) {
    long keyLength = key.readRemaining();
    long valueLength = value.readRemaining();
    ReadContext.checkKeyLength(keyLength);
    WriteBuffer.checkValueLength(valueLength);
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      request.prepare(syncsEveryCommit());
      request.keyspace = keyspace;
      if (!request.fits(2 * Frame.lengthMax(keyLength + valueLength, 1))) {
        request.single.set(keyspace, Tag.PUT, key.toByteArray(), value.toByteArray(), 0);
        request.frame.encode(request.single, /* inMemory= */ false);
        pipeline.commit(request);
        return;
      }
      Region scratch = request.frame.scratch(keyLength + valueLength);
      UserBytes.copy(key, scratch, 0);
      UserBytes.copy(value, scratch, keyLength);
      request.frame.encodeScratch(keyspace, (int) keyLength, (int) valueLength);
      pipeline.commit(request);
    } finally {
      finish(slot);
    }
  }

  /**
   * Writes all or nothing; {@code sync} overrides the store's setting when not null.
   *
   * @return the sequence number of the last entry, 0 when there is none; they are consecutive
   */
  public long write(WriteBuffer buffer, @Nullable CommitSync sync) {
    return write(buffer, sync == null ? config.sync() : sync, /* syncNanos= */ 0);
  }

  /** Writes all or nothing, and syncs it so much later if nothing else does before. */
  public void writeSyncedWithin(WriteBuffer buffer, long syncNanos) {
    write(buffer, CommitSync.INTERVAL, syncNanos);
  }

  private long write(WriteBuffer buffer, CommitSync sync, long syncNanos) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      if (buffer.count() == 0) {
        return 0;
      }
      request.prepare(sync == CommitSync.EVERY_COMMIT);
      request.keyspaces = buffer.keyspaces();
      encode(request, buffer.records(config.clock().millis()));
      pipeline.commit(request);
      if (syncNanos > 0) {
        syncs.within(syncNanos);
      }
      return request.lastSequence();
    } finally {
      finish(slot);
    }
  }

  /** Writes all or nothing, unless that takes a wait; whether it did. */
  public boolean tryWrite(WriteBuffer buffer) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      if (buffer.count() == 0) {
        return true;
      }
      if (syncsEveryCommit()) {
        return false;
      }
      request.prepare(/* withSync= */ false);
      request.mayWait = false;
      request.keyspaces = buffer.keyspaces();
      encode(request, buffer.records(config.clock().millis()));
      pipeline.commit(request);
      return request.applied;
    } finally {
      finish(slot);
    }
  }

  /** Writes records of a restore, all of them or none; without a sync of its own. */
  public void restore(RecordSource records, Set<Integer> keyspaces) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      request.prepare(/* withSync= */ false);
      request.restores = true;
      request.keyspaces = keyspaces;
      encode(request, records);
      pipeline.commit(request);
    } finally {
      finish(slot);
    }
  }

  /**
   * Writes all or nothing, in keyspaces besides the store's own, if nothing that was read before
   * has changed.
   *
   * @param check knows what was read, null when nothing was
   * @return the sequence number of the last record, or {@link #CONFLICT}; they are consecutive
   */
  public long write(RecordSource records, Set<Integer> keyspaces, @Nullable CommitCondition check) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      if (check != null && !check.advance()) {
        return CONFLICT;
      }
      request.prepare(syncsEveryCommit());
      request.keyspaces = keyspaces;
      request.condition = check;
      encode(request, records);
      if (check != null && check.isBehind() && !check.advance()) {
        return CONFLICT;
      }
      pipeline.commit(request);
      return request.applied ? request.lastSequence() : CONFLICT;
    } finally {
      finish(slot);
    }
  }

  /**
   * Puts {@code value}, or deletes the key when it is null, if the key's value is {@code expected},
   * null meaning absent; whether it did.
   */
  public boolean compareAndSet(
      int keyspace, byte[] key, byte @Nullable [] expected, byte @Nullable [] value) {
    ReadContext.checkKeyLength(key.length);
    WriteBuffer.checkValueLength(value == null ? 0 : value.length);
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      request.prepare(syncsEveryCommit());
      request.keyspace = keyspace;
      request.condition = new ExpectedValue(reads, expected);
      request.single.set(keyspace, value == null ? Tag.DELETE : Tag.PUT, key, value, 0);
      encode(request, request.single);
      pipeline.commit(request);
      return request.applied;
    } finally {
      finish(slot);
    }
  }

  /** Adds {@code delta} to the counter under the key, absent being 0; what it is then. */
  public long increment(int keyspace, byte[] key, long delta) {
    ReadContext.checkKeyLength(key.length);
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      request.prepare(syncsEveryCommit());
      request.keyspace = keyspace;
      CounterStep step = new CounterStep(reads, keyspace, key, delta);
      request.condition = step;
      // As long as what the leader will put in its place, since groups go by length.
      step.encode(request, 0);
      pipeline.commit(request);
      return step.sum();
    } finally {
      finish(slot);
    }
  }

  private void encode(WriteRequest request, RecordSource source) {
    long longest = Frame.lengthMax(source.payloadBytes(), source.recordCount());
    if (isStreamed(longest, source.recordCount())) {
      request.frame.encode(source, /* inMemory= */ false);
      return;
    }
    request.frame.encode(source, /* inMemory= */ request.fits(longest));
  }

  /**
   * Whether to encode a frame while it is written even if there is memory for all of it: one that
   * is much longer than a core's cache would go through memory twice more. With short records that
   * is less than what it costs to read them back for the memtable; and compressing is what each
   * writer had better do for itself.
   */
  private boolean isStreamed(long frameBytes, int recordCount) {
    return frameBytes >= STREAMED_BYTES_MIN
        && frameBytes / recordCount >= STREAMED_RECORD_BYTES_MIN
        && config.compressionBytesMin() == Integer.MAX_VALUE;
  }

  private void finish(EpochSlot<WriteRequest> slot) {
    try {
      if (!slot.context().forget()) {
        slots.visitNext(WriteRequest::giveBack);
      }
    } finally {
      exit(slot);
    }
  }

  /** Refuses every later call and waits for those under way. */
  public void close() {
    closed = true;
    pipeline.close();
    slots.drain();
  }

  /** Whether later calls are refused. */
  public boolean isClosed() {
    return closed;
  }

  public void exit(EpochSlot<WriteRequest> slot) {
    slots.exit(slot);
  }

  public void free() {
    slots.free();
  }

  private long commitSingle(
      int keyspace, int kind, byte[] key, byte @Nullable [] value, long expiry) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    try {
      request.prepare(syncsEveryCommit());
      request.keyspace = keyspace;
      request.single.set(keyspace, kind, key, value, expiry);
      encode(request, request.single);
      pipeline.commit(request);
      return request.lastSequence();
    } finally {
      finish(slot);
    }
  }

  /** Announces a call that writes or maintains, so that closing waits for its end. */
  public EpochSlot<WriteRequest> enter() {
    EpochSlot<WriteRequest> slot = enterToRead();
    if (config.mode().readOnly()) {
      exit(slot);
      throw new ReadOnlyStoreException();
    }
    return slot;
  }

  /** Whether the calling thread is inside a call that closing waits for. */
  public boolean isInside() {
    return slots.isInside();
  }

  /** As {@link #enter}, for a call that takes long and writes nothing. */
  public EpochSlot<WriteRequest> enterToRead() {
    requirePagesRead();
    EpochSlot<WriteRequest> slot = slots.enter();
    if (closed) {
      exit(slot);
      throw new StoreClosedException("the store is closed");
    }
    return slot;
  }

  /**
   * Tells the caller of a page that he could not read before this, as through a view of a value. In
   * the middle of a write the same error would be one after which the log is not trusted, and on
   * the way into the epochs one after which nobody leaves them.
   */
  private void requirePagesRead() {
    if (DeferredPageFaults.areExpected()) {
      PageFaults.requireNone();
      DeferredPageFaults.wereAsked();
    }
  }

  private boolean syncsEveryCommit() {
    return config.sync() == CommitSync.EVERY_COMMIT;
  }

  private WriteRequest newRequest() {
    return new WriteRequest(
        ledger,
        memory.newShare(),
        new Frame.Encoding(config.inlineValueBytesMax(), config.compressionBytesMin()));
  }
}
