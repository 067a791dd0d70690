package io.kvsep.internal.write;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
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
import io.kvsep.internal.memory.StoreMemory;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.read.UserBytes;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.RecordSource;
import java.io.IOException;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * The write half of an engine: checks limits, encodes on the caller's thread and commits through
 * the pipeline. Each call occupies a slot, which holds its buffers and which close waits for.
 * Thread safe.
 */
public final class StoreWrites {
  /** Instead of a sequence number: something read has changed. */
  public static final long CONFLICT = -1;

  private static final long STREAMED_BYTES_MIN = 1 << 20;
  private static final long STREAMED_RECORD_BYTES_MIN = 4 << 10;

  public interface Work<T extends @Nullable Object> {
    T run() throws IOException;
  }

  private final EngineConfig config;
  private final MemoryLedger ledger;
  private final CommitPipeline pipeline;
  private final IntervalSyncs syncs;
  private final StoreReads reads;

  /** A pool of slots, counted by close. Nothing is retired here: it protects no memory. */
  private final Epochs<WriteRequest> slots;

  private final ScratchBudget memory;
  private final boolean readOnly;
  private final boolean syncsEveryCommit;
  private volatile boolean closed;

  public StoreWrites(
      EngineConfig config,
      StoreMemory memory,
      CommitPipeline pipeline,
      IntervalSyncs syncs,
      StoreReads reads) {
    this.config = config;
    this.ledger = memory.ledger();
    this.memory = memory.commits();
    this.pipeline = pipeline;
    this.syncs = syncs;
    this.reads = reads;
    this.slots = new Epochs<>(this::newRequest);
    this.readOnly = config.mode().readOnly();
    this.syncsEveryCommit = config.sync().commits() == CommitSync.EVERY_COMMIT;
  }

  /**
   * Sets the key.
   *
   * @param timeToLiveMillis 0 for no expiry; a negative number is the negated expiry time
   * @return the sequence number of the entry
   */
  public long put(int keyspace, byte[] key, byte[] value, long timeToLiveMillis) {
    ReadContext.checkKeyLength(key.length);
    BatchWrites.checkValueLength(value.length);
    boolean expires = timeToLiveMillis != 0;
    long expiry = expires ? Expiry.at(config.clock().millis(), timeToLiveMillis) : 0;
    return commitSingle(keyspace, expires ? Tag.PUT | Tag.EXPIRES : Tag.PUT, key, value, expiry);
  }

  public void delete(int keyspace, byte[] key) {
    ReadContext.checkKeyLength(key.length);
    commitSingle(keyspace, Tag.DELETE, key, null, 0);
  }

  /** Deletes [{@code from}, {@code to}), nothing if that is empty or reversed. */
  public void deleteRange(int keyspace, byte[] from, byte[] to) {
    BatchWrites.checkBoundLength(from);
    BatchWrites.checkBoundLength(to);
    if (Arrays.compareUnsigned(from, to) >= 0) {
      slots.exit(enter());
      return;
    }
    commitSingle(keyspace, Tag.RANGE_DELETE, from, Keyspaces.storedKey(keyspace, to), 0);
  }

  /** Deletes all entries of a keyspace being dropped, durably. */
  void deleteAll(int keyspace) {
    WriteRequest request = begin(/* withSync= */ true);
    try {
      request.keyspace = keyspace;
      request.dropsKeyspace = true;
      request.single.set(keyspace, Tag.RANGE_DELETE, new byte[0], Keyspaces.end(keyspace), 0);
      encode(request, request.single);
      pipeline.commit(request);
    } finally {
      end(request);
    }
  }

  /**
   * Allocates nothing, unless {@link DeferredPageFaults} must be checked or the entry exceeds the
   * commit buffers.
   */
  public void put(int keyspace, BytesStore<?, ?> key, BytesStore<?, ?> value) {
    long keyLength = key.readRemaining();
    long valueLength = value.readRemaining();
    ReadContext.checkKeyLength(keyLength);
    BatchWrites.checkValueLength(valueLength);
    WriteRequest request = begin(syncsEveryCommit);
    try {
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
      end(request);
    }
  }

  /**
   * Writes atomically; {@code sync} overrides the setting unless null.
   *
   * @return the last entry's sequence number, 0 if empty; numbers are consecutive
   */
  public long write(BatchWrites buffer, @Nullable CommitSync sync) {
    return write(buffer, sync == null ? config.sync().commits() : sync, /* syncNanos= */ 0);
  }

  /** Writes atomically; synced within {@code syncNanos} at the latest. */
  public void writeSyncedWithin(BatchWrites buffer, long syncNanos) {
    write(buffer, CommitSync.INTERVAL, syncNanos);
  }

  private long write(BatchWrites buffer, CommitSync sync, long syncNanos) {
    WriteRequest request = begin(sync == CommitSync.EVERY_COMMIT);
    try {
      if (buffer.count() == 0) {
        return 0;
      }
      request.keyspaces = buffer.keyspaces();
      encode(request, buffer.records(config.clock().millis()));
      pipeline.commit(request);
      if (syncNanos > 0) {
        syncs.within(syncNanos);
      }
      return request.frame.lastSequence();
    } finally {
      end(request);
    }
  }

  /** Writes atomically unless that would block; returns whether it did. */
  public boolean tryWrite(BatchWrites buffer) {
    WriteRequest request = begin(/* withSync= */ false);
    try {
      if (buffer.count() == 0) {
        return true;
      }
      if (syncsEveryCommit) {
        return false;
      }
      request.mayWait = false;
      request.keyspaces = buffer.keyspaces();
      encode(request, buffer.records(config.clock().millis()));
      pipeline.commit(request);
      return request.applied;
    } finally {
      end(request);
    }
  }

  /**
   * Writes atomically if nothing read has changed.
   *
   * @param keyspaces those written to, except the default one
   * @param check knows what was read; null if nothing was
   * @return the last record's sequence number, or {@link #CONFLICT}; numbers are consecutive
   */
  public long write(RecordSource records, Set<Integer> keyspaces, @Nullable CommitCondition check) {
    WriteRequest request = begin(syncsEveryCommit);
    try {
      if (check != null && !check.advance()) {
        return CONFLICT;
      }
      request.keyspaces = keyspaces;
      request.condition = check;
      encode(request, records);
      if (check != null && check.isBehind() && !check.advance()) {
        return CONFLICT;
      }
      pipeline.commit(request);
      return request.applied ? request.frame.lastSequence() : CONFLICT;
    } finally {
      end(request);
    }
  }

  /**
   * Puts {@code value} if the key's value is {@code expected}; null means absent. Returns whether
   * it did.
   */
  public boolean compareAndSet(
      int keyspace, byte[] key, byte @Nullable [] expected, byte @Nullable [] value) {
    ReadContext.checkKeyLength(key.length);
    BatchWrites.checkValueLength(value == null ? 0 : value.length);
    return commitIf(
        new ExpectedValue(reads, expected),
        keyspace,
        value == null ? Tag.DELETE : Tag.PUT,
        key,
        value,
        0);
  }

  /**
   * Puts {@code value}, or deletes the key if null, if the key's entry has this version; 0 means
   * absent. Returns whether it did.
   *
   * @param timeToLiveMillis 0 for no expiry
   */
  public boolean replace(
      int keyspace, byte[] key, long version, byte @Nullable [] value, long timeToLiveMillis) {
    ReadContext.checkKeyLength(key.length);
    BatchWrites.checkValueLength(value == null ? 0 : value.length);
    boolean expires = timeToLiveMillis != 0;
    long expiry = expires ? Expiry.at(config.clock().millis(), timeToLiveMillis) : 0;
    int put = expires ? Tag.PUT | Tag.EXPIRES : Tag.PUT;
    return commitIf(
        new ExpectedVersion(reads, version),
        keyspace,
        value == null ? Tag.DELETE : put,
        key,
        value,
        expiry);
  }

  private boolean commitIf(
      CommitCondition condition,
      int keyspace,
      int kind,
      byte[] key,
      byte @Nullable [] value,
      long expiry) {
    WriteRequest request = begin(syncsEveryCommit);
    try {
      request.keyspace = keyspace;
      request.condition = condition;
      request.single.set(keyspace, kind, key, value, expiry);
      encode(request, request.single);
      pipeline.commit(request);
      return request.applied;
    } finally {
      end(request);
    }
  }

  /** Adds {@code delta} to a counter, absent being 0; returns the sum. */
  public long increment(int keyspace, byte[] key, long delta) {
    ReadContext.checkKeyLength(key.length);
    WriteRequest request = begin(syncsEveryCommit);
    try {
      request.keyspace = keyspace;
      CounterStep step = new CounterStep(reads, keyspace, key, delta);
      request.condition = step;
      // As long as the leader's frame, because groups are built by length.
      step.encode(request, 0);
      pipeline.commit(request);
      return step.sum();
    } finally {
      end(request);
    }
  }

  private void encode(WriteRequest request, RecordSource source) {
    int records = source.recordCount();
    long longest = Frame.lengthMax(source.payloadBytes(), records);
    boolean inMemory = !isStreamed(longest, records) && request.fits(longest);
    request.frame.encode(source, inMemory);
  }

  /**
   * Whether to encode a frame while writing it even if it fits into memory: beyond a core's cache
   * it would pass through memory twice more. With short records that is cheaper than reading them
   * back; compression is better done by each writer.
   */
  private boolean isStreamed(long frameBytes, int recordCount) {
    return frameBytes >= STREAMED_BYTES_MIN
        && frameBytes / recordCount >= STREAMED_RECORD_BYTES_MIN
        && config.values().compressionBytesMin() == Integer.MAX_VALUE;
  }

  private WriteRequest begin(boolean withSync) {
    EpochSlot<WriteRequest> slot = enter();
    WriteRequest request = slot.context();
    request.prepare(slot, withSync);
    return request;
  }

  private void end(WriteRequest request) {
    EpochSlot<WriteRequest> slot = Objects.requireNonNull(request.slot);
    try {
      if (!request.forget()) {
        slots.visitNext(WriteRequest::giveBack);
      }
    } finally {
      slots.exit(slot);
    }
  }

  public void close() {
    closed = true;
    pipeline.close();
    slots.drain();
  }

  public boolean isClosed() {
    return closed;
  }

  public void free() {
    slots.free();
  }

  private long commitSingle(
      int keyspace, int kind, byte[] key, byte @Nullable [] value, long expiry) {
    WriteRequest request = begin(syncsEveryCommit);
    try {
      request.keyspace = keyspace;
      request.single.set(keyspace, kind, key, value, expiry);
      encode(request, request.single);
      pipeline.commit(request);
      return request.frame.lastSequence();
    } finally {
      end(request);
    }
  }

  /**
   * Runs a call that changes the store other than by a write; close waits for it.
   *
   * @param failed what an I/O error means
   */
  public <T extends @Nullable Object> T maintain(String failed, Work<T> work) {
    return run(enter(), failed, work);
  }

  /** As {@link #maintain}, for a call that changes nothing. */
  public <T extends @Nullable Object> T inspect(String failed, Work<T> work) {
    return run(enterToRead(), failed, work);
  }

  private <T extends @Nullable Object> T run(
      EpochSlot<WriteRequest> slot, String failed, Work<T> work) {
    try {
      return work.run();
    } catch (IOException e) {
      throw new StorageException(failed, e);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    } finally {
      slots.exit(slot);
    }
  }

  private EpochSlot<WriteRequest> enter() {
    EpochSlot<WriteRequest> slot = enterToRead();
    if (readOnly) {
      slots.exit(slot);
      throw new ReadOnlyStoreException();
    }
    return slot;
  }

  /** Whether the thread is in a call that close waits for. */
  public boolean isInside() {
    return slots.isInside();
  }

  private EpochSlot<WriteRequest> enterToRead() {
    // Raises an earlier page fault of this thread, e.g. through a value view. During a write it
    // would fail the store; during epoch entry it would leave the slot occupied.
    if (DeferredPageFaults.areExpected()) {
      PageFaults.requireNone();
      DeferredPageFaults.wereAsked();
    }
    EpochSlot<WriteRequest> slot = slots.enter();
    if (closed) {
      slots.exit(slot);
      throw new StoreClosedException("the store is closed");
    }
    return slot;
  }

  private WriteRequest newRequest() {
    return new WriteRequest(
        ledger,
        memory.newShare(),
        new Frame.Encoding(
            config.values().inlineBytesMax(), config.values().compressionBytesMin()));
  }
}
