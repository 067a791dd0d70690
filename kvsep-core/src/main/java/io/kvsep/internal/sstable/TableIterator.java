package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.HeapEntry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.KeyLimit;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Walks one table. Keys are put together in a scratch region of the iterator's own, payloads are
 * read where they lie in the mapping, or in the block as the iterator has unpacked it: what walks
 * by once does not push aside what lookups keep. A step forward parses one entry; a step back
 * parses the entries from the restart before, about half a restart interval. Blocks are verified
 * when they are entered; a seek that stays in its block does not verify it again.
 */
final class TableIterator extends InternalIterator {
  private static final int NO_BLOCK = -1;

  /** Suffixes are copied eight bytes at a time, so up to seven too many. */
  private static final int COPY_SLACK = 7;

  /** With blocks of 2 KiB, 64 KiB: many more would be evicted before a slow reader gets there. */
  private static final int BLOCKS_AHEAD_MAX = 32;

  /** From here on a call that copies costs less than a loop. */
  private static final int LOOP_BYTES_MAX = 64;

  private final TableReader table;
  private final TableIndex index;
  private final BlockView block = new BlockView();
  private final GrowingRegion scratch;

  /** Holds the current block if that is packed. */
  private final GrowingRegion unpacked;

  /** Where the current block lies: the mapping, or what it was unpacked into. */
  private Region source;

  private Region key;
  private int blockIndex = NO_BLOCK;

  /** Where the current entry begins. */
  private long entry;

  /** Entries of the current block that begin before this were foreseen. */
  private long foreseenTo;

  /** For {@link #ahead}; null until that is asked for. */
  private @Nullable BlockCopy copy;

  /** Whether blocks are likely to be such that a copy can be entered. */
  private boolean entersCopies = true;

  /** Which block is in it. */
  private int copiedBlock = NO_BLOCK;

  /**
   * Whether something of the current block was read in the mapping since we asked whether that
   * could be. Not what is read on entering it, right behind its checksum.
   */
  private boolean unasked;

  /** Blocks that are loaded at once in a cold store: more, the longer the walk. */
  private int blocksAhead = 1;

  /** Blocks loaded last. */
  private int loadedFrom;

  private int loadedTo;

  private boolean closed;

  /** Takes over a pin of the table. */
  TableIterator(TableReader table, MemoryLedger ledger) {
    this.table = table;
    this.index = table.index();
    this.scratch = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.unpacked = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.source = table.mapping();
    this.key = scratch.region();
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
    // Raises what the caller's own mistake is, before anything out of bounds means damage.
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
    if (entry < foreseenTo) {
      return;
    }
    // Of what the view says of the current entry, only this is still needed.
    long next = block.next;
    try {
      long at = entry;
      do {
        block.parse(at);
        block.parseTail();
        at = block.next;
      } while (sink.entry(block.tag, source, block.payload) && at < block.limit);
      foreseenTo = at;
    } catch (IndexOutOfBoundsException e) {
      // Damage is found by whoever gets there.
      foreseenTo = block.limit;
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
      // The block that was copied before may be what is there now.
      Region.requirePagesRead();
      copiedBlock = blockIndex;
    }
    entries.begin(at, foreseenTo, limit, sequenceMax);
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
    foreseenTo = entries.foreseenTo();
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
  public void close() {
    valid = false;
    if (!closed) {
      closed = true;
      CleanupSteps closes = new CleanupSteps();
      closes.run(scratch::close);
      closes.run(unpacked::close);
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

  /** Whether all could be read, see {@link Region#requirePagesRead}. */
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
   * Makes {@code target} the current block; no entry is current then.
   *
   * @param entries takes a copy, null for none
   */
  private void enter(int target, @Nullable BlockCopy entries) {
    if (target != blockIndex) {
      loadAround(target);
      blockIndex = NO_BLOCK;
      copiedBlock = NO_BLOCK;
      boolean checked = entries != null && enterCopied(target, entries);
      boolean copied = checked;
      if (!checked) {
        block.enter(table, target, unpacked);
        if (entries != null && BlockCopy.takes(block.limit - block.start)) {
          entries.copy(block.region(), block.start, block.limit);
          copied = true;
        }
      }
      // A block that the index names wrongly would be another sound one; a copy, as in ahead.
      ask(!checked || unasked);
      blockIndex = target;
      copiedBlock = copied ? target : NO_BLOCK;
      source = block.region();
      here.payloadRegion = source;
      here.payloadPasses = source != table.mapping();
      foreseenTo = 0;
      // Steps within the block do not ask.
      DeferredPageFaults.mayFollow();
    }
    here.keyLength = 0;
  }

  /**
   * Loads a block that is entered in a cold store, and those that a walk goes on to. Others read
   * the block, and its record in the index, without asking whether they are in memory.
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
    long from = index.blockOffset(loadedFrom);
    table.bytes().load(from, index.blockOffset(loadedTo) - from);
  }

  /**
   * Goes by the copy of a block rather than by the block, which spares asking whether that could be
   * read; whether it could be done. What may be wrong with the block is left to the other way.
   */
  private boolean enterCopied(int target, BlockCopy entries) {
    if (!entersCopies) {
      return false;
    }
    index.requireRecords(target, 1, block.window);
    long from = index.blockOffset(target);
    long end = index.blockOffset(target + 1);
    if (!BlockCopy.takesWhole(end - from)) {
      return false;
    }
    int restarts = entries.copyBlock(table.bytes(), from, end);
    if (restarts == 0) {
      // Packed, as others of the table are likely to be.
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

  /** Parses the entry at {@code at}; the key of the one before is in the scratch. */
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
    // The shared part is as long as it can be; at a restart it is empty and tells nothing.
    here.keyIsNew = shared > 0 && (unshared > 0 || shared < here.keyLength);
    int length = shared + unshared;
    if (length + COPY_SLACK > key.length()) {
      grow(length);
    }
    long suffix = block.suffix;
    if (unshared > LOOP_BYTES_MAX) {
      key.put(shared, source, suffix, unshared);
    } else {
      // Reading too far is harmless as well: the restarts are behind the entries.
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
    key = scratch.ensure(length + COPY_SLACK);
    here.keyRegion = key;
  }

  private RuntimeException damaged(IndexOutOfBoundsException cause) {
    valid = false;
    blockIndex = NO_BLOCK;
    return table.damaged(block, cause);
  }
}
