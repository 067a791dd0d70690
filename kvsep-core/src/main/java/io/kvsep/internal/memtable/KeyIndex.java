package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/**
 * Hash index over the key nodes of a skip list. A lookup costs one or two cache lines, a search
 * about a dozen. The index costs a sixth of an insert, so unless the list defers it is given up if
 * keys were rarely looked up by the time it must grow.
 *
 * <p>Grows by adding a larger table instead of rehashing, so no insert takes long. The previous
 * memtable determines the size of the first table. Open addressing with linear probing, no removal.
 * A slot is four bytes, 0 if empty:
 *
 * <pre>
 * upper bits   of the key's hash, so that other keys are rarely compared
 * lower bits   offset of the node divided by eight, as many as the arena's length needs
 * </pre>
 *
 * <p>Thread safe: one thread may put while any number find. A node is put before it is linked, so a
 * key not found was absent.
 */
final class KeyIndex {
  private static final int SLOT_BYTES = 4;
  private static final int SLOTS_MIN = 16;

  /** Limit if the number of keys is unknown, so that the table stays cached. */
  private static final int SLOTS_FIRST_MAX = 1 << 14;

  private static final int GROWTH = 4;
  private static final int TABLES_MAX = 4;

  /**
   * The additional table has half the maximum size; otherwise a deferring memtable of tiny entries
   * would be sorted by the insert that finds the others full.
   */
  private static final int TABLES_NEEDED_MAX = TABLES_MAX + 1;

  /**
   * Limit of slots with equal hash bits. Only crafted keys exceed it; the index is then given up,
   * because searches are as fast as usual.
   */
  private static final int ALIKE_MAX = 64;

  /** So that the index of a small arena grows too. */
  private static final int SLOTS_PER_FIRST = 64;

  /** Arena bytes for each slot of the largest table. */
  private static final int ARENA_BYTES_PER_SLOT = 64;

  private final MemoryLedger ledger;
  private final int nodeBits;
  private final long slotsMax;

  private final LongAdder lookups = new LongAdder();

  private volatile Region[] tables;

  private volatile boolean complete = true;

  /**
   * Free slots of the newest table. This and the next two are accessed only by the putting thread.
   */
  private int room;

  private long keys;

  private long overwrites;

  /**
   * @param expectedKeys 0 if unknown
   */
  KeyIndex(MemoryLedger ledger, long arenaBytes, long expectedKeys) {
    this.ledger = ledger;
    this.nodeBits = Long.SIZE - Long.numberOfLeadingZeros(arenaBytes >>> 3);
    this.slotsMax = powerOfTwo(Math.max(SLOTS_MIN, arenaBytes / ARENA_BYTES_PER_SLOT));
    long first = Math.min(SLOTS_FIRST_MAX, Math.max(SLOTS_MIN, slotsMax / SLOTS_PER_FIRST));
    this.tables = new Region[] {newTable(Math.max(first, powerOfTwo(expectedKeys * 3 / 2)))};
  }

  /** Whether all keys can be found. */
  boolean isComplete() {
    return complete;
  }

  /** Estimated keys of the next index. */
  long expectedKeys(boolean needed) {
    return needed || isOfUse() ? keys : 0;
  }

  /** Counts an overwrite as a use. */
  void overwritten() {
    overwrites++;
  }

  private boolean isOfUse() {
    return lookups.sum() + overwrites >= keys / 2;
  }

  /** The node of a key, or {@link SkipList#NULL} if unknown. */
  int find(long hash, Nodes nodes, Region key, long offset, int length) {
    lookups.increment();
    return probe(hash, nodes, key, offset, length);
  }

  /** Like {@link #find}, but not counted as a lookup. */
  int probe(long hash, Nodes nodes, Region key, long offset, int length) {
    if (!complete) {
      return SkipList.NULL;
    }
    int tag = tag(hash);
    Region[] now = tables;
    for (int i = now.length - 1; i >= 0; i--) {
      Region table = now[i];
      int at = first(table, hash);
      int slot = table.getIntVolatile(at);
      while (slot != SkipList.NULL) {
        if ((slot ^ tag) >>> nodeBits == 0 && nodes.hasKey(node(slot), key, offset, length)) {
          return node(slot);
        }
        at = next(table, at);
        slot = table.getIntVolatile(at);
      }
    }
    return SkipList.NULL;
  }

  /**
   * Puts the node of a new key.
   *
   * @param needed whether the list cannot find nodes without the index
   * @return false if the index must be given up
   */
  boolean put(long hash, int node, boolean needed) {
    keys++;
    if (!complete) {
      return true;
    }
    if (room == 0 && !grow(needed)) {
      return false;
    }
    room--;
    Region table = tables[tables.length - 1];
    int tag = tag(hash);
    int alike = 0;
    int at = first(table, hash);
    int slot = table.getIntVolatile(at);
    while (slot != SkipList.NULL) {
      alike += (slot ^ tag) >>> nodeBits == 0 ? 1 : 0;
      at = next(table, at);
      slot = table.getIntVolatile(at);
    }
    if (alike > ALIKE_MAX) {
      return false;
    }
    table.putIntRelease(at, tag | node >>> 3);
    return true;
  }

  void giveUp() {
    complete = false;
  }

  long memoryBytes() {
    long bytes = 0;
    for (Region table : tables) {
      bytes += table.length();
    }
    return bytes;
  }

  void free() {
    for (Region table : tables) {
      table.free();
    }
  }

  private boolean grow(boolean needed) {
    int count = tables.length;
    if (count >= (needed ? TABLES_NEEDED_MAX : TABLES_MAX) || !(needed || isOfUse())) {
      return false;
    }
    try {
      long slots =
          count == TABLES_MAX ? slotsMax / 2 : tables[count - 1].length() / SLOT_BYTES * GROWTH;
      Region[] more = Arrays.copyOf(tables, count + 1);
      more[count] = newTable(slots);
      tables = more;
      return true;
    } catch (OutOfMemoryError e) {
      // The entry is committed; searches find it.
      return false;
    }
  }

  private Region newTable(long wanted) {
    long slots = Math.min(slotsMax, wanted);
    Region table = ledger.allocate(MemoryPurpose.MEMTABLE, slots * SLOT_BYTES);
    // A load factor of at most 7/8 keeps probes for absent keys short.
    room = (int) (slots - slots / 8);
    return table;
  }

  private static long powerOfTwo(long number) {
    return number <= 1 ? 1 : Long.highestOneBit(number - 1) << 1;
  }

  private static int first(Region table, long hash) {
    return (int) hash * SLOT_BYTES & (int) table.length() - 1;
  }

  private static int next(Region table, int at) {
    return at + SLOT_BYTES & (int) table.length() - 1;
  }

  private int tag(long hash) {
    return (int) (hash >>> 32) >>> nodeBits << nodeBits;
  }

  private int node(int slot) {
    return (slot & (1 << nodeBits) - 1) << 3;
  }
}
