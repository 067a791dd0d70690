package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/**
 * Where the nodes of a skip list's keys are, by hash: a lookup costs a line of the cache or two
 * where a search touches a dozen. Whoever only writes new keys has nothing of it and pays for it a
 * sixth of an insert, so it is given up when by then keys were hardly looked for, unless the list
 * defers.
 *
 * <p>Some tables, each with more slots than the one before: nothing is ever moved, and no insert
 * takes long. A memtable begins with one that holds what the last one came to. Open addressing with
 * linear probing; nothing is ever taken out. A slot is a number of four bytes, 0 when it is empty:
 *
 * <pre>
 * upper bits   of the key's hash, so that other keys are hardly ever looked at
 * lower bits   offset of the node by eight, as many as the arena's length needs
 * </pre>
 *
 * <p>Thread safe: one thread may put while any number of threads find. A node is put before it is
 * linked into the list, so that who does not find it knows that it was not there.
 */
final class KeyIndex {
  private static final int SLOT_BYTES = 4;
  private static final int SLOTS_MIN = 16;

  /** Of the first table; it is made in any case and stays in the processor's cache. */
  private static final int SLOTS_FIRST_MAX = 1 << 14;

  private static final int GROWTH = 4;
  private static final int TABLES_MAX = 4;

  /**
   * One more, of half the slots, is there for a list that defers: without it, a memtable of keys
   * and values that have a few bytes each would have to be brought in order by the insert that
   * finds no room.
   */
  private static final int TABLES_NEEDED_MAX = TABLES_MAX + 1;

  /**
   * Slots with the same bits of the hash that a lookup may have to look behind. Only keys that
   * somebody made up for it have more; searches are as fast with them as with others.
   */
  private static final int ALIKE_MAX = 64;

  /** A small arena has a small first table, so that others follow here too. */
  private static final int SLOTS_PER_FIRST = 64;

  /** So much of an arena for each slot of any but the first table. */
  private static final int ARENA_BYTES_PER_SLOT = 64;

  private final MemoryLedger ledger;
  private final int nodeBits;
  private final long slotsMax;

  /** How often a key was looked for. */
  private final LongAdder lookups = new LongAdder();

  private volatile Region[] tables;

  /** Whether all nodes were put. */
  private volatile boolean complete = true;

  /** Of the thread that puts. */
  private int room;

  private long keys;

  private long overwrites;

  /**
   * @param expectedKeys how many keys there will be; 0 if that is not known
   */
  KeyIndex(MemoryLedger ledger, long arenaBytes, long expectedKeys) {
    this.ledger = ledger;
    this.nodeBits = Long.SIZE - Long.numberOfLeadingZeros(arenaBytes >>> 3);
    this.slotsMax = powerOfTwo(Math.max(SLOTS_MIN, arenaBytes / ARENA_BYTES_PER_SLOT));
    long first = Math.min(SLOTS_FIRST_MAX, Math.max(SLOTS_MIN, slotsMax / SLOTS_PER_FIRST));
    this.tables = new Region[] {newTable(Math.max(first, powerOfTwo(expectedKeys * 3 / 2)))};
  }

  /** Whether a key that is not found is not there. */
  boolean isComplete() {
    return complete;
  }

  /**
   * How many keys another one will have to know if things go on like this. By who puts.
   *
   * @param needed as for {@link #put}
   */
  long expectedKeys(boolean needed) {
    return needed || isOfUse() ? keys : 0;
  }

  /** By who puts: a key was there already when an entry for it came. */
  void overwritten() {
    overwrites++;
  }

  private boolean isOfUse() {
    return lookups.sum() + overwrites >= keys / 2;
  }

  /** The node of a key, {@link SkipList#NULL} when none is known. */
  int find(long hash, Nodes nodes, Region key, long offset, int length) {
    lookups.increment();
    return probe(hash, nodes, key, offset, length);
  }

  /** As {@link #find}, by the thread that puts, for what it is about to write. */
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
   * Puts the node of a key of which there is none.
   *
   * @param needed whether nodes are found by the index alone, so that it is of use in any case
   * @return false when it cannot be put; then the index has to be given up
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

  /** Knows of no key any more; all of them are found otherwise. By who puts. */
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
      // The entry is committed already; searches find it.
      return false;
    }
  }

  private Region newTable(long wanted) {
    long slots = Math.min(slotsMax, wanted);
    Region table = ledger.allocate(MemoryPurpose.MEMTABLE, slots * SLOT_BYTES);
    // A probe for what is not there ends soon.
    room = (int) (slots - slots / 8);
    return table;
  }

  /** The next one at or above the number. */
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
