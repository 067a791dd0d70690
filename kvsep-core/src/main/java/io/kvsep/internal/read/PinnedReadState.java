package io.kvsep.internal.read;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.ReadState;
import org.jspecify.annotations.Nullable;

/** A read state and sequence number, pinned in memory and on disk until closed. */
public final class PinnedReadState implements AutoCloseable {
  private final StoreReads reads;
  private final ReadState readState;
  private final long sequence;
  private final @Nullable MemtableHighWater mark;

  /**
   * Takes over the reference to the read state.
   *
   * @param mark entries above {@code sequence} are after it; null if unknown
   */
  PinnedReadState(
      StoreReads reads, ReadState readState, long sequence, @Nullable MemtableHighWater mark) {
    this.reads = reads;
    this.readState = readState;
    this.sequence = sequence;
    this.mark = mark;
  }

  ReadState readState() {
    return readState;
  }

  @Nullable MemtableHighWater mark() {
    return mark;
  }

  public long sequence() {
    return sequence;
  }

  public Version version() {
    return readState.version;
  }

  public SnapshotCursor cursor(int keyspace, long since) {
    // Read-ahead follows what is visible, not what has changed.
    int prefetch = since == StoreReads.EVERYTHING ? ScanBounds.ADAPTIVE : 0;
    ScanBounds all = new ScanBounds(keyspace, null, null, false, false, Long.MAX_VALUE, prefetch);
    return reads.cursor(this, all, since);
  }

  /** A cursor over the keys alone from {@code from} on, up to {@code to} or the keyspace's end. */
  public SnapshotCursor keys(int keyspace, byte[] from, byte @Nullable [] to) {
    ScanBounds keys = new ScanBounds(keyspace, from, to, false, true, Long.MAX_VALUE, 0);
    return reads.cursor(this, keys, StoreReads.EVERYTHING);
  }

  /** Range tombstones still stored, including later ones. */
  public RangeTombstones ranges() {
    RangeTombstones.Builder all = new RangeTombstones.Builder();
    for (Memtable memtable : readState.searched) {
      all.add(memtable.ranges().fragments(sequence));
    }
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : readState.version.rangeTables(level)) {
        all.add(table.rangeTombstones());
      }
    }
    return all.build();
  }

  @Override
  public void close() {
    readState.release();
  }
}
