package io.kvsep.internal.memtable;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Lincheck;
import java.util.Map;
import java.util.TreeMap;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Inserts and searches of a memtable are linearizable: each takes effect at one moment between its
 * call and its return. (Walking is not, and does not say so: it sees some of what comes meanwhile.)
 */
@org.junit.jupiter.api.Tag("lincheck")
final class SkipListLincheckTest {
  @Test
  void insertsAndSearchesTakeEffectAtOneMomentInEveryInterleaving() {
    Lincheck.modelChecking().sequentialSpecification(SortedModel.class).check(Memory.class);
  }

  @Test
  void insertsAndSearchesTakeEffectAtOneMomentAtFullSpeed() {
    Lincheck.stress()
        .threads(3)
        .actorsPerThread(3)
        .sequentialSpecification(SortedModel.class)
        .check(Memory.class);
  }

  /** A new tag for each insert, the same in every run: 1 or more inserts in front of the thread. */
  private static int tag(int[] inserts, int thread) {
    return ++inserts[thread] << 3 | thread;
  }

  private static int position(int key, int tag) {
    return key << 16 | tag;
  }

  /** The operations on a memtable. */
  @Param(name = "key", gen = IntGen.class, conf = "1:3")
  public static final class Memory {
    /** Makes most of the first towers two to four levels high. */
    private static final long SEED = 149_327;

    private static final int THREADS_MAX = 8;
    private static final MemoryLedger LEDGER = new MemoryLedger();

    /** Lincheck makes an instance for each run and says nothing when it is done with it. */
    private static @Nullable Memory latest;

    private final Memtable memtable = new Memtable(LEDGER, 2048, LogPosition.START, SEED);
    private final Region[] scratch = new Region[THREADS_MAX];
    private final Memtable.Splice[] splices = new Memtable.Splice[THREADS_MAX];
    private final int[] inserts = new int[THREADS_MAX];

    public Memory() {
      Memory before = latest;
      if (before != null) {
        before.memtable.free();
        for (Region region : before.scratch) {
          region.free();
        }
      }
      latest = this;
      for (int i = 0; i < THREADS_MAX; i++) {
        scratch[i] = LEDGER.allocate(MemoryPurpose.READ, 8);
        splices[i] = new Memtable.Splice();
      }
    }

    /** One thread at a time. */
    @Operation(nonParallelGroup = "inserters")
    public boolean insert(
        @Param(name = "key") int key, @Param(gen = ThreadIdGen.class) int thread) {
      Region source = scratch[thread];
      source.putByte(0, (byte) key);
      Entry entry = new Entry();
      entry.keyRegion = source;
      entry.keyLength = 1;
      entry.tag = Tag.of(tag(inserts, thread), Tag.PUT);
      return memtable.insert(entry, splices[thread]);
    }

    /** The tag of the newest entry of the key. */
    @Operation
    public int newest(@Param(name = "key") int key, @Param(gen = ThreadIdGen.class) int thread) {
      Region region = key(key, thread);
      int node = memtable.find(region, 0, 1, KeyHash.of(region, 0, 1), Tag.MAX);
      return node == 0 ? 0 : (int) Tag.sequence(memtable.tag(node));
    }

    @Operation
    public int atOrAfter(@Param(name = "key") int key, @Param(gen = ThreadIdGen.class) int thread) {
      try (MemtableIterator iterator = (MemtableIterator) memtable.iterator()) {
        iterator.seek(key(key, thread), 0, 1, Tag.MAX);
        return at(iterator);
      }
    }

    @Operation
    public int before(@Param(name = "key") int key, @Param(gen = ThreadIdGen.class) int thread) {
      try (MemtableIterator iterator = (MemtableIterator) memtable.iterator()) {
        iterator.seekBefore(key(key, thread), 0, 1, Tag.MAX);
        return at(iterator);
      }
    }

    @Operation
    public int last() {
      try (MemtableIterator iterator = (MemtableIterator) memtable.iterator()) {
        iterator.seekToLast();
        return at(iterator);
      }
    }

    private Region key(int key, int thread) {
      scratch[thread].putByte(0, (byte) key);
      return scratch[thread];
    }

    private static int at(MemtableIterator iterator) {
      if (!iterator.isValid()) {
        return 0;
      }
      int key = iterator.keyRegion().getByte(iterator.keyOffset());
      return position(key, (int) Tag.sequence(iterator.tag()));
    }
  }

  /** The same without concurrency: keys up, tags of a key down. */
  public static final class SortedModel {
    private final TreeMap<Integer, TreeMap<Integer, Boolean>> entries = new TreeMap<>();
    private final int[] inserts = new int[Memory.THREADS_MAX];

    public boolean insert(int key, int thread) {
      entries.computeIfAbsent(key, k -> new TreeMap<>()).put(tag(inserts, thread), true);
      return true;
    }

    public int newest(int key, int thread) {
      TreeMap<Integer, Boolean> tags = entries.get(key);
      return tags == null ? 0 : tags.lastKey();
    }

    public int atOrAfter(int key, int thread) {
      Map.Entry<Integer, TreeMap<Integer, Boolean>> found = entries.ceilingEntry(key);
      return found == null ? 0 : position(found.getKey(), found.getValue().lastKey());
    }

    public int before(int key, int thread) {
      Map.Entry<Integer, TreeMap<Integer, Boolean>> found = entries.lowerEntry(key);
      return found == null ? 0 : position(found.getKey(), found.getValue().firstKey());
    }

    public int last() {
      return entries.isEmpty()
          ? 0
          : position(entries.lastKey(), entries.lastEntry().getValue().firstKey());
    }
  }
}
