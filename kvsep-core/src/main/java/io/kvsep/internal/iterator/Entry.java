package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/** An index entry on its way into a memtable. Reusable, owns no memory, not thread safe. */
public final class Entry {
  public @Nullable Region keyRegion;
  public long keyOffset;
  public int keyLength;
  public long tag;

  /** Used only if the tag's kind expires. */
  public long expiresAtMillis;

  /** Value or encoded pointer, without the expiry; may be null if {@link #valueLength} is 0. */
  public @Nullable Region valueRegion;

  public long valueOffset;
  public int valueLength;
}
