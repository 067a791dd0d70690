package io.kvsep.internal.read;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.ScratchBudget;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.sstable.Lookup;
import io.kvsep.internal.vlog.StoredValue;
import io.kvsep.internal.vlog.ValueReader;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** What one reader works with: the stored key it looks for, and what was found. Not thread safe. */
public final class ReadContext implements SlotContext {
  /** Of a slot's key, from the start: its first call need not make room for most keys. */
  private static final int KEY_RESERVED_BYTES = 64;

  /** Of a slot's key, between two calls. */
  private static final int KEY_KEPT_BYTES_MAX = 1 << 10;

  /** One in so many uses of a table is reported; a power of two. */
  private static final long SAMPLE = 64;

  /** Written by whoever reads, and only ever read by others. */
  private final AtomicLong tableReads = new AtomicLong();

  private final GrowingRegion key;
  public final ValueReader.Scratch scratch;
  public final Lookup lookup;
  final StoredValue value = new StoredValue();

  public int keyLength;
  long tag;
  @Nullable Region payloadRegion;
  long payloadOffset;
  int payloadLength;

  /** Of a reader whose scratch space counts against nothing. */
  public ReadContext(MemoryLedger ledger) {
    this(ledger, /* memory= */ null);
  }

  /** Those of the slots of a store; what their values take counts against one budget. */
  public static Supplier<ReadContext> ofSlots(EngineConfig config, MemoryLedger ledger) {
    long keptBytesMax = config.shape().keptBytesMax();
    long slotBytesMax = ValueReader.SLOT_BYTES_MAX;
    // One read can always go on.
    ScratchBudget memory =
        new ScratchBudget(Math.max(keptBytesMax, slotBytesMax), keptBytesMax, slotBytesMax);
    return () -> {
      ReadContext context = new ReadContext(ledger, memory.newShare());
      context.key.ensure(KEY_RESERVED_BYTES);
      return context.verifying(config.verifiesValues());
    };
  }

  private ReadContext(MemoryLedger ledger, ScratchBudget.@Nullable Share memory) {
    key = new GrowingRegion(ledger, MemoryPurpose.READ);
    lookup = new Lookup(ledger);
    scratch =
        new ValueReader.Scratch(
            new GrowingRegion(ledger, MemoryPurpose.READ),
            new GrowingRegion(ledger, MemoryPurpose.READ),
            memory);
  }

  /** The same; see {@link ValueReader.Scratch#trustValues}. */
  ReadContext verifying(boolean verifiesValues) {
    if (!verifiesValues) {
      scratch.trustValues();
    }
    return this;
  }

  public Region key() {
    return key.region();
  }

  void setKey(int keyspace, byte[] userKey) {
    checkKeyLength(userKey.length);
    int prefixLength = putPrefix(keyspace, userKey.length);
    key.region().put(prefixLength, userKey, 0, userKey.length);
  }

  public void setStoredKey(byte[] stored) {
    keyLength = stored.length;
    key.ensure(keyLength).put(0, stored, 0, keyLength);
  }

  void setKey(int keyspace, BytesStore<?, ?> userKey) {
    checkKeyLength(userKey.readRemaining());
    int length = (int) userKey.readRemaining();
    int prefixLength = putPrefix(keyspace, length);
    UserBytes.copy(userKey, key.region(), prefixLength);
  }

  public static void checkKeyLength(long length) {
    if (length == 0) {
      throw new LimitExceededException("the key is empty");
    }
    if (length > Limits.KEY_BYTES_MAX) {
      throw new LimitExceededException(
          "the key has " + length + " bytes, the limit is " + Limits.KEY_BYTES_MAX);
    }
  }

  /** Counts a table that is looked into; whether this is one for the sample. */
  boolean countTableRead() {
    long count = tableReads.getPlain() + 1;
    tableReads.setOpaque(count);
    return (count & (SAMPLE - 1)) == 0;
  }

  /** Tables looked into so far. */
  public long tableReads() {
    return tableReads.getOpaque();
  }

  private int putPrefix(int keyspace, int userKeyLength) {
    int prefixLength = Keyspaces.prefixLength(keyspace);
    keyLength = prefixLength + userKeyLength;
    Region target = key.ensure(keyLength);
    if (prefixLength == 1) {
      target.putByte(0, (byte) keyspace);
    } else {
      target.putByte(0, (byte) Keyspaces.LONG_FORM);
      target.putInt(1, Integer.reverseBytes(keyspace));
    }
    return prefixLength;
  }

  /**
   * Ends a call: lets go of its value, and of all memory but a little.
   *
   * @return false when other slots keep too much for this one to keep its own
   */
  public boolean trim() {
    value.forget();
    if (key.capacity() > KEY_KEPT_BYTES_MAX) {
      key.close();
    }
    lookup.trim();
    return scratch.trim();
  }

  /** Gives back what was kept for the next call. */
  void giveBack() {
    scratch.giveBack();
  }

  @Override
  public void free() {
    key.close();
    lookup.close();
    scratch.close();
  }
}
