package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.Region;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * An unpacked block that lookups share, in a slot of its table's reader. Freed through the epochs
 * after its removal. Thread safe.
 */
final class CachedBlock implements ReaderCache.Reader, ReaderCache.Holder<CachedBlock> {
  /** Heap of this object, the region, the cache entry and the slot. */
  private static final int OVERHEAD_BYTES = 256;

  private final TableCache cache;
  private final AtomicReferenceArray<@Nullable CachedBlock> places;
  private final int place;
  private final Region bytes;
  private final int weightBytes;

  /** Takes over {@code bytes}. */
  CachedBlock(
      TableCache cache,
      AtomicReferenceArray<@Nullable CachedBlock> places,
      int place,
      Region bytes) {
    this.cache = cache;
    this.places = places;
    this.place = place;
    this.bytes = bytes;
    this.weightBytes = (int) Math.min(Integer.MAX_VALUE, bytes.length() + OVERHEAD_BYTES);
    cache.addBlockBytes(bytes.length());
  }

  Region bytes() {
    return bytes;
  }

  @Override
  public int weightBytes() {
    return weightBytes;
  }

  @Override
  public void evicted() {
    cache.retire(this);
  }

  /** The slot holds the only pin. */
  @Override
  public void unpin() {
    cache.addBlockBytes(-bytes.length());
    bytes.free();
  }

  @Override
  public boolean unlink(CachedBlock block) {
    return places.compareAndSet(place, block, null);
  }

  @Override
  public boolean isLinked(CachedBlock block) {
    return places.get(place) == block;
  }
}
