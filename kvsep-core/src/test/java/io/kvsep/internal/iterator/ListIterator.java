package io.kvsep.internal.iterator;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import java.util.List;

/**
 * The contract of {@link InternalIterator} over a sorted list, to the letter: where an entry lies
 * changes with every step, what lay there before is poisoned, and a step of an iterator that is not
 * valid fails.
 */
final class ListIterator extends InternalIterator {
  /** An entry; its payload is one byte that says which child it is from. */
  @SuppressWarnings("ArrayRecordComponent") // compared through compareTo only
  record Item(byte[] key, long tag, int source) implements Comparable<Item> {
    @Override
    public int compareTo(Item other) {
      int order = Arrays.compareUnsigned(key, other.key);
      return order != 0 ? order : Long.compare(other.tag, tag);
    }
  }

  private final List<Item> items;
  private final Region[] places;
  private int index;
  private int place;
  private boolean closed;

  ListIterator(List<Item> items, MemoryLedger ledger) {
    this.items = items;
    int keyBytes = items.stream().mapToInt(item -> item.key.length).max().orElse(1);
    this.places =
        new Region[] {
          ledger.allocate(MemoryPurpose.READ, 16L + keyBytes),
          ledger.allocate(MemoryPurpose.READ, 16L + keyBytes)
        };
  }

  @Override
  public void seekToFirst() {
    stand(0);
  }

  @Override
  public void seekToLast() {
    stand(items.size() - 1);
  }

  @Override
  public void seek(Region key, long offset, int length, long tag) {
    stand(firstAtOrAfter(new Item(key.getBytes(offset, length), tag, 0)));
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long tag) {
    stand(firstAtOrAfter(new Item(key.getBytes(offset, length), tag, 0)) - 1);
  }

  @Override
  public void next() {
    assertTrue(valid);
    stand(index + 1);
  }

  @Override
  public void previous() {
    assertTrue(valid);
    stand(index - 1);
  }

  @Override
  public void close() {
    assertFalse(closed);
    closed = true;
    valid = false;
    places[0].free();
    places[1].free();
  }

  private int firstAtOrAfter(Item target) {
    int at = 0;
    while (at < items.size() && items.get(at).compareTo(target) < 0) {
      at++;
    }
    return at;
  }

  private void stand(int at) {
    assertFalse(closed);
    places[place].fill(0, places[place].length(), (byte) 0xdd);
    place ^= 1;
    index = at;
    valid = at >= 0 && at < items.size();
    if (valid) {
      Item item = items.get(at);
      Region region = places[place];
      here.keyRegion = region;
      here.keyOffset = 3L + place;
      here.keyLength = item.key.length;
      region.put(here.keyOffset, item.key, 0, here.keyLength);
      here.tag = item.tag;
      byte[] before = at > 0 ? items.get(at - 1).key : new byte[0];
      here.keyIsNew = at > 0 && !Arrays.equals(before, item.key);
      int differs = Arrays.mismatch(before, item.key);
      here.keyShared = differs < 0 ? item.key.length : differs;
      here.payloadRegion = region;
      here.payloadOffset = here.keyOffset + here.keyLength;
      here.payloadLength = 1;
      region.putByte(here.payloadOffset, (byte) item.source);
    }
  }
}
