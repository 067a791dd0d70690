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
import io.kvsep.internal.memory.StoreMemory;
import io.kvsep.internal.sstable.Lookup;
import io.kvsep.internal.vlog.StoredValue;
import io.kvsep.internal.vlog.ValueReader;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * One reader's scratch state: the stored key it looks for, and the entry found, in {@link #lookup}.
 * Not thread safe.
 */
public final class ReadContext implements SlotContext {
  /** Initial key buffer of a slot; most keys fit. */
  private static final int KEY_RESERVED_BYTES = 64;

  /** Key buffer kept between calls. */
  private static final int KEY_KEPT_BYTES_MAX = 1 << 10;

  /** One in this many table reads is reported; a power of two. */
  private static final long SAMPLE = 64;

  /** Written only by the reading thread. */
  private final AtomicLong tableReads = new AtomicLong();

  private final GrowingRegion keyMemory;
  private @Nullable Region key;
  public final ValueReader.Scratch scratch;
  public final Lookup lookup;
  final StoredValue value = new StoredValue();

  public int keyLength;

  public ReadContext(MemoryLedger ledger) {
    this(ledger, /* memory= */ null);
  }

  /** Contexts of a store's slots; their value buffers share one budget. */
  public static Supplier<ReadContext> ofSlots(EngineConfig config, StoreMemory memory) {
    return () -> {
      ReadContext context = new ReadContext(memory.ledger(), memory.reads().newShare());
      context.keyMemory.ensure(KEY_RESERVED_BYTES);
      return context.verifying(config.values().areVerified());
    };
  }

  private ReadContext(MemoryLedger ledger, ScratchBudget.@Nullable Share memory) {
    keyMemory = new GrowingRegion(ledger, MemoryPurpose.READ);
    lookup = new Lookup(ledger);
    scratch = new ValueReader.Scratch(ledger, memory);
  }

  ReadContext verifying(boolean verifiesValues) {
    if (!verifiesValues) {
      scratch.trustValues();
    }
    return this;
  }

  public Region key() {
    return Objects.requireNonNull(key);
  }

  void setKey(int keyspace, byte[] userKey) {
    checkKeyLength(userKey.length);
    int prefixLength = putPrefix(keyspace, userKey.length);
    key().put(prefixLength, userKey, 0, userKey.length);
  }

  public void setStoredKey(byte[] stored) {
    keyLength = stored.length;
    ensureKey().put(0, stored, 0, keyLength);
  }

  void setKey(int keyspace, BytesStore<?, ?> userKey) {
    checkKeyLength(userKey.readRemaining());
    int length = (int) userKey.readRemaining();
    int prefixLength = putPrefix(keyspace, length);
    UserBytes.copy(userKey, key(), prefixLength);
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

  boolean countTableRead() {
    long count = tableReads.getPlain() + 1;
    tableReads.setOpaque(count);
    return (count & (SAMPLE - 1)) == 0;
  }

  public long tableReads() {
    return tableReads.getOpaque();
  }

  private int putPrefix(int keyspace, int userKeyLength) {
    int prefixLength = Keyspaces.prefixLength(keyspace);
    keyLength = prefixLength + userKeyLength;
    Region target = ensureKey();
    if (prefixLength == 1) {
      target.putByte(0, (byte) keyspace);
    } else {
      target.putByte(0, (byte) Keyspaces.LONG_FORM);
      target.putInt(1, Integer.reverseBytes(keyspace));
    }
    return prefixLength;
  }

  private Region ensureKey() {
    Region target = keyMemory.ensure(keyLength);
    key = target;
    return target;
  }

  /**
   * Ends a call: drops its value and trims memory.
   *
   * @return false if other slots keep too much for this one to keep its own
   */
  public boolean trim() {
    if (keyMemory.capacity() > KEY_KEPT_BYTES_MAX) {
      keyMemory.close();
    }
    lookup.trim();
    value.forget();
    return scratch.trim();
  }

  void giveBack() {
    scratch.giveBack();
  }

  @Override
  public void free() {
    keyMemory.close();
    lookup.close();
    scratch.close();
  }
}
