package io.kvsep.internal.read;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.Lookup;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.vlog.ReadBatch;
import io.kvsep.internal.vlog.RecordPrefetcher;
import io.kvsep.internal.vlog.ValueReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Looks up many keys at one sequence number, in groups, all keys of a group first. Then values in
 * memory are touched together, in small groups, to overlap cache misses; those on the device are
 * read together, in large groups.
 *
 * <p>For one call on one thread, which is inside the epochs during a group, and retains the read
 * state between groups.
 */
final class MultiGet {
  /** Includes absent and inline keys. Bounds memory, and the time inside the epochs. */
  static final int GROUP_KEYS_MAX = 512;

  /** A group ends once its records exceed this. */
  private static final long GROUP_BYTES_MAX = 16 << 20;

  private final PointReader points;
  private final ValueReader values;
  private final DeviceReads device;
  private final ReadState readState;
  private final long moment;
  private final int keyspace;
  private final byte[][] keys;
  private final List<byte @Nullable []> results;
  private final RecordPrefetcher near;

  /** An entry whose value is still to be read. */
  private record Found(int index, long tag, Region payload, long offset, int length) {
    long pointer() {
      return offset + Payload.headerLength(Tag.kind(tag));
    }

    /** From the pointer, which may be corrupt. */
    int recordLength() {
      return ValuePointer.recordLength(payload, pointer());
    }
  }

  MultiGet(
      PointReader points,
      ValueReader values,
      DeviceReads device,
      ReadState readState,
      long moment,
      int keyspace,
      byte[][] keys) {
    this.points = points;
    this.values = values;
    this.device = device;
    this.readState = readState;
    this.moment = moment;
    this.keyspace = keyspace;
    this.keys = keys;
    this.results = new ArrayList<>(keys.length);
    this.near = values.newNearRecords();
  }

  boolean isComplete() {
    return results.size() == keys.length;
  }

  /** Values of completed groups in the order of the keys, null where absent. */
  List<byte @Nullable []> results() {
    return results;
  }

  /** Adds the next group's results; only while incomplete. */
  void nextGroup(ReadContext context) {
    int end = Math.min(keys.length, results.size() + GROUP_KEYS_MAX);
    if (values.isCold()) {
      getFar(context, end);
    } else {
      getNear(context, end);
    }
  }

  /** For keys before {@code end} whose values are probably in memory. */
  private void getNear(ReadContext context, int end) {
    List<Found> separate = new ArrayList<>();
    near.begin(RecordPrefetcher.RECORDS_MAX);
    boolean isRoom = true;
    while (isRoom && results.size() < end && separate.size() < RecordPrefetcher.RECORDS_MAX) {
      Found found = find(context);
      if (found != null) {
        separate.add(found);
        isRoom = near.add(found.payload, found.pointer());
      }
    }
    near.touch();
    for (Found found : separate) {
      results.set(found.index, read(context, found));
    }
  }

  /** As {@link #getNear}, for values probably on the device. */
  private void getFar(ReadContext context, int end) {
    ReadBatch batch = values.newBatch();
    List<Found> separate = new ArrayList<>();
    // Not the batch's count, which omits long records.
    long bytes = 0;
    long deviceReads = values.deviceReads();
    boolean isShared = false;
    while (results.size() < end && bytes < GROUP_BYTES_MAX) {
      if (!isShared && end - results.size() > 1 && values.deviceReads() != deviceReads) {
        isShared = true;
        lookUpTogether(context, end);
      }
      Found found = find(context);
      if (found != null) {
        batch.add(found.payload, found.pointer());
        separate.add(found);
        bytes += Math.max(0, found.recordLength());
      }
    }
    // Raise page faults here: after one between claiming and counting a piece, every thread would
    // wait for the batch.
    Region.requirePagesRead();
    batch.prepare();
    try {
      device.start(batch);
      batch.finish();
      for (Found found : separate) {
        results.set(found.index, read(context, found));
      }
    } finally {
      batch.cancel();
    }
  }

  /** Reads the blocks of the remaining keys before {@code end} into memory. */
  private void lookUpTogether(ReadContext context, int end) {
    int start = results.size();
    SharedLookups lookups =
        new SharedLookups(points, readState, moment, keyspace, keys, start, end);
    device.help(end - start - 1, lookups::run);
    lookups.finish(context);
  }

  /**
   * Adds the next key's result, or null if the key is absent or its value is still to be read; then
   * returns the entry.
   */
  private @Nullable Found find(ReadContext context) {
    int index = results.size();
    context.setKey(keyspace, keys[index]);
    results.add(null);
    if (!points.find(readState, context, moment)) {
      return null;
    }
    if (Tag.baseKind(Tag.kind(context.lookup.tag)) == Tag.PUT) {
      results.set(index, points.value(context, ValueReader.Use.ARRAY).toArray());
      return null;
    }
    Lookup lookup = context.lookup;
    Region payload = Objects.requireNonNull(lookup.payloadRegion);
    if (lookup.isOwn(payload)) {
      // The next lookup may overwrite it.
      results.set(index, points.value(context, ValueReader.Use.ARRAY).toArray());
      return null;
    }
    return new Found(index, lookup.tag, payload, lookup.payloadOffset, lookup.payloadLength);
  }

  private byte[] read(ReadContext context, Found found) {
    context.setKey(keyspace, keys[found.index]);
    Lookup lookup = context.lookup;
    lookup.tag = found.tag;
    lookup.payloadRegion = found.payload;
    lookup.payloadOffset = found.offset;
    lookup.payloadLength = found.length;
    return points.value(context, ValueReader.Use.ARRAY).toArray();
  }
}
