package io.kvsep.internal.engine;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.NearRecords;
import io.kvsep.internal.vlog.ReadBatch;
import io.kvsep.internal.vlog.ValueReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Looks up many keys as of one moment. The keys of a group are all found first. As long as values
 * come from memory, those of a small group are then touched together, so that their ways through
 * the caches overlap; when they come from the device, those of a large one are brought into memory
 * together.
 *
 * <p>For one call on one thread, which is inside the epochs.
 */
final class MultiGet {
  /** Keys in a group; bounds what is kept between finding and reading. */
  private static final int GROUP_KEYS_MAX = 512;

  private static final long GROUP_BYTES_MAX = 16 << 20;

  private final PointReader points;
  private final ValueReader values;
  private final DeviceReads device;
  private final View view;
  private final ReadContext context;
  private final long moment;
  private final int keyspace;

  /** An entry whose value is still to be read. */
  private record Found(int index, long tag, Region payload, long offset, int length) {
    long pointer() {
      return offset + Payload.headerLength(Tag.kind(tag));
    }
  }

  MultiGet(
      PointReader points,
      ValueReader values,
      DeviceReads device,
      View view,
      ReadContext context,
      long moment,
      int keyspace) {
    this.points = points;
    this.values = values;
    this.device = device;
    this.view = view;
    this.context = context;
    this.moment = moment;
    this.keyspace = keyspace;
  }

  /** Values in the order of {@code wanted}, null where absent. */
  List<byte @Nullable []> get(List<byte[]> wanted) {
    byte[][] keys = wanted.toArray(new byte[0][]);
    List<byte @Nullable []> results = new ArrayList<>(keys.length);
    NearRecords near = values.newNearRecords();
    while (results.size() < keys.length) {
      if (values.isCold()) {
        getFar(keys, results);
      } else {
        getNear(keys, results, near);
      }
    }
    return results;
  }

  /** Adds the results of some further keys, whose values are likely to be in memory. */
  private void getNear(byte[][] keys, List<byte @Nullable []> results, NearRecords near) {
    List<Found> separate = new ArrayList<>();
    near.begin(NearRecords.RECORDS_MAX);
    boolean isRoom = true;
    while (isRoom && results.size() < keys.length && separate.size() < NearRecords.RECORDS_MAX) {
      Found found = find(keys, results);
      if (found != null) {
        separate.add(found);
        isRoom = near.add(found.payload, found.pointer());
      }
    }
    if (near.touch()) {
      near.suspect();
    }
    for (Found found : separate) {
      results.set(found.index, read(found, keys[found.index]));
    }
  }

  /** As above, of values that are likely not to be in memory. */
  private void getFar(byte[][] keys, List<byte @Nullable []> results) {
    ReadBatch batch = values.newBatch();
    List<Found> separate = new ArrayList<>();
    while (results.size() < keys.length
        && separate.size() < GROUP_KEYS_MAX
        && batch.bytes() < GROUP_BYTES_MAX) {
      Found found = find(keys, results);
      if (found != null) {
        batch.add(found.payload, found.pointer());
        separate.add(found);
      }
    }
    batch.prepare();
    try {
      device.start(batch, context.scratch);
      batch.finish(context.scratch);
      for (Found found : separate) {
        if (batch.holds(found.payload, found.pointer())) {
          context.scratch.expectLoaded();
        }
        results.set(found.index, read(found, keys[found.index]));
      }
    } finally {
      batch.cancel();
    }
  }

  /**
   * Adds the result of the next key; null in its place where it is absent or its value is still to
   * be read, in which case what was found is returned.
   */
  private @Nullable Found find(byte[][] keys, List<byte @Nullable []> results) {
    int index = results.size();
    context.setKey(keyspace, keys[index]);
    results.add(null);
    if (!points.find(view, context, moment)) {
      return null;
    }
    if (Tag.baseKind(Tag.kind(context.tag)) == Tag.PUT) {
      results.set(index, points.value(context).toArray());
      return null;
    }
    Region payload = Objects.requireNonNull(context.payloadRegion);
    return new Found(index, context.tag, payload, context.payloadOffset, context.payloadLength);
  }

  private byte[] read(Found found, byte[] key) {
    context.setKey(keyspace, key);
    context.tag = found.tag;
    context.payloadRegion = found.payload;
    context.payloadOffset = found.offset;
    context.payloadLength = found.length;
    return points.value(context).toArray();
  }
}
