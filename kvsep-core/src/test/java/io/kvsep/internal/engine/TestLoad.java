package io.kvsep.internal.engine;

import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.load.LoadSource;
import java.util.Iterator;
import java.util.List;

/** Entries of a list for a bulk load. */
public final class TestLoad implements LoadSource {
  /** One of them. */
  public record Item(byte[] key, byte[] value) {}

  private final Iterator<Item> items;
  private Item current = new Item(new byte[0], new byte[0]);

  public TestLoad(List<Item> items) {
    this(items.iterator());
  }

  public TestLoad(Iterator<Item> items) {
    this.items = items;
  }

  @Override
  public boolean next() {
    if (!items.hasNext()) {
      return false;
    }
    current = items.next();
    return true;
  }

  @Override
  public byte[] key() {
    return current.key();
  }

  @Override
  public byte[] value() {
    return current.value();
  }

  @Override
  public long expiresAtMillis() {
    return Payload.NEVER;
  }
}
