package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.HeapEntry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.KeyLimit;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over one table. Assembles keys in a scratch region. Reads payloads in the mapping or in
 * its own unpacked block, so that scans do not evict blocks cached for lookups. A step forward
 * parses one entry; a step back parses from the previous restart, about half a restart interval.
 * Verifies a block on entry, not for a seek within it.
 */
final class TableIterator extends InternalIterator {
  private static final int NO_BLOCK = -1;

  /** Suffixes are copied eight bytes at a time. */
  private static final int COPY_SLACK = 7;

  /** 64 KiB with blocks of 2 KiB. Many more would be evicted before a slow reader gets there. */
  private static final int BLOCKS_AHEAD_MAX = 32;

  /** Above this, a bulk copy is cheaper than a loop. */
  private static final int LOOP_BYTES_MAX = 64;

  private final TableReader table;
  private final TableIndex index;
  // Null once closed, as is the key: the next iterator uses them.
  private IteratorMemory memory;
  private BlockView block;

  /** The mapping or memory of an unpacked block. */
  private Region source;

  private Region key;
  private int blockIndex = NO_BLOCK;

  private long entry;

  /** For {@link #ahead}; null until first used. */
  private @Nullable BlockCopy copy;

  /** Whether blocks can probably be entered by {@link #enterCopied}. */
  private boolean entersCopies = true;

  /** The block in {@link #copy}. */
  private int copiedBlock = NO_BLOCK;

  /**
   * Whether the mapped block was read since the last {@link Region#requirePagesRead}. Reads on
   * entry, right after the checksum, do not count.
   */
  private boolean unasked;

  /** Blocks loaded at once in a cold store; grows with the walk. */
  private int blocksAhead = 1;

  /** Blocks loaded last. */
  private int loadedFrom;

  private int loadedTo;

  private boolean closed;

  /** Takes over a pin of the table. */
  TableIterator(TableReader table, MemoryLedger ledger) {
    this.table = table;
    this.index = table.index();
    this.memory = table.takeMemory(ledger);
    this.block = memory.block;
    this.source = table.mapping();
    this.key = memory.key.region();
    here.keyRegion = key;
    here.payloadRegion = source;
  }

  @Override
  public void seekToFirst() {
    valid = false;
    try {
      enter(0);
      step(block.start);
      valid = true;
    } catch (IndexOutOfBoundsException e) {
      throw damaged(e);
    }
  }

  @Override
  public void seekToLast() {
    valid = false;
    try {
      enter(index.blockCount() - 1);
      stepToBefore(block.limit);
      valid = true;
    } catch (IndexOutOfBoundsException e) {
      throw damaged(e);
    }
  }

  @Override
  public void seek(Region target, long offset, int length, long seekTag) {
    // Throws for an error of the caller, before out of bounds means damage.
    target.keyPrefix(offset, length);
    valid = false;
    try {
      int found = index.find(target, offset, length, seekTag, block.window);
      if (found == index.blockCount()) {
        return;
      }
      boolean stays = found == blockIndex;
      enter(found);
      long at = block.floorRestart(target, offset, length, seekTag);
      here.keyLength = 0;
      do {
        step(at);
        if (compareTo(target, offset, length, seekTag) >= 0) {
          ask(stays);
          valid = true;
          return;
        }
        at = block.next;
      } while (at < block.limit);
      ask(stays);
      // The key is between the last entry of this block and its separator.
      stepIntoNextBlock();
    } catch (IndexOutOfBoundsException e) {
      throw damaged(e);
    }
  }

  @Override
  public void seekBefore(Region target, long offset, int length, long seekTag) {
    seek(target, offset, length, seekTag);
    if (valid) {
      previous();
    } else {
      seekToLast();
    }
  }

  @Override
  public void next() {
    try {
      if (block.next < block.limit) {
        unasked = true;
        step(block.next);
      } else {
        stepIntoNextBlock();
      }
    } catch (IndexOutOfBoundsException e) {
      throw damaged(e);
    }
  }

  @Override
  public void previous() {
    try {
      if (entry > block.start) {
        stepToBefore(entry);
        return;
      }
      valid = false;
      if (blockIndex > 0) {
        enter(blockIndex - 1);
        stepToBefore(block.limit);
        valid = true;
      }
    } catch (IndexOutOfBoundsException e) {
      throw damaged(e);
    }
  }

  @Override
  public void foresee(PrefetchSink sink) {
    // All that the current entry still needs of the view.
    long next = block.next;
    try {
      long at = entry;
      do {
        block.parse(at);
        block.parseTail();
        at = block.next;
      } while (sink.entry(block.tag, source, block.payload) && at < block.limit);
    } catch (IndexOutOfBoundsException e) {
      // The read that reaches the damage reports it.
    } finally {
      block.next = next;
    }
  }

  @Override
  public @Nullable EntryLookahead ahead(@Nullable KeyLimit limit, long sequenceMax) {
    long at = block.next;
    if (at >= block.limit || !BlockCopy.takes(block.limit - at)) {
      return null;
    }
    BlockCopy entries = copy == null ? new BlockCopy() : copy;
    copy = entries;
    if (copiedBlock != blockIndex || !entries.holds(at)) {
      copiedBlock = NO_BLOCK;
      entries.copy(source, at, block.limit);
      // An unreadable page may have left bytes of the previous copy.
      Region.requirePagesRead();
      copiedBlock = blockIndex;
    }
    entries.begin(at, limit, sequenceMax);
    return entries;
  }

  @Override
  public RuntimeException disorder() {
    return damaged(new IndexOutOfBoundsException("an entry that is not behind the one before"));
  }

  @Override
  public void follow(HeapEntry seen) {
    BlockCopy entries = copy;
    if (entries == null || !entries.isMoved()) {
      throw new IllegalStateException("no entry ahead was seen");
    }
    entry = entries.entryOffset();
    block.next = entries.nextOffset();
    int length = seen.keyLength;
    if (length + COPY_SLACK > key.length()) {
      grow(length);
    }
    key.put(0, seen.key, 0, length);
    here.keyLength = length;
    here.tag = seen.tag;
    here.payloadOffset = seen.payloadOffset;
    here.payloadLength = seen.payloadLength;
  }

  @Override
  @SuppressWarnings("NullAway") // a move after close must fail rather than move the next iterator
  public void close() {
    valid = false;
    if (!closed) {
      closed = true;
      CleanupSteps closes = new CleanupSteps();
      IteratorMemory given = memory;
      here.keyRegion = null;
      memory = null;
      block = null;
      key = null;
      given.trim(closes);
      closes.run(() -> table.giveMemory(given));
      closes.run(table::unpin);
      closes.throwFirst();
    }
  }

  private void stepIntoNextBlock() {
    valid = false;
    if (blockIndex + 1 < index.blockCount()) {
      enter(blockIndex + 1, copy);
      step(block.start);
      valid = true;
    }
  }

  private void ask(boolean due) {
    if (due) {
      Region.requirePagesRead();
      unasked = false;
    }
  }

  private void enter(int target) {
    enter(target, /* entries= */ null);
  }

  /**
   * Makes {@code target} the current block, without a current entry.
   *
   * @param entries receives a copy; null for none
   */
  private void enter(int target, @Nullable BlockCopy entries) {
    if (target != blockIndex) {
      loadAround(target);
      blockIndex = NO_BLOCK;
      copiedBlock = NO_BLOCK;
      boolean checked = entries != null && enterCopied(target, entries);
      boolean copied = checked;
      if (!checked) {
        block.enter(table, target, memory.unpacked);
        if (entries != null && BlockCopy.takes(block.limit - block.start)) {
          entries.copy(block.region(), block.start, block.limit);
          copied = true;
        }
      }
      // With unreadable pages, the index may have named another sound block, or the copy may be
      // wrong.
      ask(!checked || unasked);
      blockIndex = target;
      copiedBlock = copied ? target : NO_BLOCK;
      source = block.region();
      here.payloadRegion = source;
      here.payloadPasses = source != table.mapping();
      // Steps within the block do not check for unreadable pages.
      DeferredPageFaults.mayFollow();
    }
    here.keyLength = 0;
  }

  /**
   * In a cold store, loads a block and those that the walk will reach, with their index records.
   */
  private void loadAround(int target) {
    if (!table.bytes().cold().isCold() || (target >= loadedFrom && target < loadedTo)) {
      return;
    }
    boolean up = target == blockIndex + 1;
    boolean walks = blockIndex != NO_BLOCK && (up || target == blockIndex - 1);
    blocksAhead = walks ? Math.min(BLOCKS_AHEAD_MAX, 2 * blocksAhead) : 1;
    loadedFrom = walks && !up ? Math.max(0, target - blocksAhead + 1) : target;
    loadedTo = walks && !up ? target + 1 : Math.min(index.blockCount(), target + blocksAhead);
    index.loadRecords(loadedFrom, loadedTo - loadedFrom);
    long from = index.blockStart(loadedFrom);
    table.bytes().load(from, index.blockStart(loadedTo) - from);
  }

  /**
   * Enters a block by its verified copy, without {@link Region#requirePagesRead}. Returns false if
   * impossible or damaged, which {@link BlockView#enter} then reports.
   */
  private boolean enterCopied(int target, BlockCopy entries) {
    if (!entersCopies) {
      return false;
    }
    index.requireRecords(target, 1, block.window);
    long from = index.blockStart(target);
    long end = index.blockEnd(target);
    if (!BlockCopy.takesWhole(end - from)) {
      return false;
    }
    int restarts = entries.copyBlock(table.bytes(), from, end);
    if (restarts == 0) {
      // Packed, as others of the table probably are.
      entersCopies = false;
      return false;
    }
    block.enterCopied(table.mapping(), from, end - TableFormat.BLOCK_TRAILER_BYTES, restarts);
    return true;
  }

  /** Parses the entry that ends at {@code limit}. */
  private void stepToBefore(long limit) {
    long at = block.restartBefore(limit);
    here.keyLength = 0;
    while (true) {
      block.parse(at);
      putKeyTogether();
      if (block.next >= limit) {
        break;
      }
      at = block.next;
    }
    if (block.next != limit) {
      throw new IndexOutOfBoundsException("entry ends at " + block.next + ", not at " + limit);
    }
    entry = at;
    takeTail();
  }

  /** The scratch must hold the previous key. */
  private void step(long at) {
    entry = at;
    block.parse(at);
    putKeyTogether();
    takeTail();
  }

  private void putKeyTogether() {
    int shared = block.shared;
    int unshared = block.unshared;
    if (shared > here.keyLength
        || unshared > Limits.STORED_KEY_BYTES_MAX - shared
        || shared + unshared == 0) {
      throw new IndexOutOfBoundsException(
          "key of " + shared + " and " + unshared + " bytes after one of " + here.keyLength);
    }
    // The shared length is maximal, except at a restart, where it is 0.
    here.keyIsNew = shared > 0 && (unshared > 0 || shared < here.keyLength);
    int length = shared + unshared;
    if (length + COPY_SLACK > key.length()) {
      grow(length);
    }
    long suffix = block.suffix;
    if (unshared > LOOP_BYTES_MAX) {
      key.put(shared, source, suffix, unshared);
    } else {
      // Reading too far is harmless: the restarts follow the entries.
      for (int i = 0; i < unshared; i += 8) {
        key.putLong(shared + i, source.getLong(suffix + i));
      }
    }
    here.keyLength = length;
    here.keyShared = shared;
  }

  private void takeTail() {
    block.parseTail();
    here.tag = block.tag;
    here.payloadOffset = block.payload;
    here.payloadLength = block.payloadLength;
  }

  private void grow(int length) {
    key = memory.key.ensure(length + COPY_SLACK);
    here.keyRegion = key;
  }

  private RuntimeException damaged(IndexOutOfBoundsException cause) {
    valid = false;
    blockIndex = NO_BLOCK;
    return table.damaged(block, cause);
  }
}
