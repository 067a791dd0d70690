package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.iterator.ForwardIterator;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;

/**
 * Iterates over the sound entries of a damaged table. Skips damaged blocks and entries that are out
 * of order. The creator owns the mapping.
 *
 * <p>Forward only, from the first entry: what is skipped depends on the entries before. Other moves
 * throw.
 */
final class SoundEntries extends ForwardIterator {
  private final TableBytes bytes;
  private final BlockPlaces blocks;
  private final BlockView block = new BlockView();
  private final GrowingRegion unpacked;
  private final GrowingRegion key;

  private int nextBlock;

  private boolean inBlock;
  private long at;

  SoundEntries(TableBytes bytes, BlockPlaces blocks, MemoryLedger ledger) {
    this.bytes = bytes;
    this.blocks = blocks;
    this.unpacked = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.key = new GrowingRegion(ledger, MemoryPurpose.READ);
  }

  @Override
  public void seekToFirst() {
    nextBlock = 0;
    inBlock = false;
    valid = false;
    step();
  }

  @Override
  public void next() {
    step();
  }

  @Override
  public void close() {
    valid = false;
    unpacked.close();
    key.close();
  }

  private void step() {
    while (true) {
      try {
        if (inBlock && at < block.limit) {
          if (take()) {
            valid = true;
            return;
          }
        } else if (nextBlock == blocks.blockCount()) {
          valid = false;
          return;
        } else {
          inBlock = false;
          int entered = nextBlock++;
          block.enter(bytes, blocks.blockStart(entered), blocks.blockEnd(entered), unpacked);
          inBlock = true;
          at = block.start;
        }
      } catch (CorruptionException | IndexOutOfBoundsException e) {
        // Reported by the table check; continue with the next block.
        inBlock = false;
      }
    }
  }

  /** False if the entry at {@link #at} is out of order. */
  private boolean take() {
    block.parse(at);
    int shared = block.shared;
    int unshared = block.unshared;
    int length = shared + unshared;
    if (shared > here.keyLength || length < 1 || unshared > Limits.STORED_KEY_BYTES_MAX - shared) {
      throw new IndexOutOfBoundsException("key of " + shared + " and " + unshared + " bytes");
    }
    Region source = block.region();
    Region target = key.ensure(length);
    int order =
        Region.compare(target, shared, here.keyLength - shared, source, block.suffix, unshared);
    block.parseTail();
    TableCheck.requirePayload(block, source);
    boolean first = !valid && here.keyLength == 0;
    boolean ascends = first || order < 0 || (order == 0 && block.tag < here.tag);
    target.put(shared, source, block.suffix, unshared);
    at = block.next;
    here.keyRegion = target;
    here.keyOffset = 0;
    here.keyLength = length;
    if (!ascends) {
      return false;
    }
    here.tag = block.tag;
    here.payloadRegion = source;
    here.payloadOffset = block.payload;
    here.payloadLength = block.payloadLength;
    here.payloadPasses = source != bytes.mapping();
    return true;
  }
}
