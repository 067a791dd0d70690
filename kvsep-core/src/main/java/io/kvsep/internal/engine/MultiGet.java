package io.kvsep.internal.engine;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.ReadBatch;
import io.kvsep.internal.vlog.ValueReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Looks up many keys as of one moment. As long as values come from memory each is read when its key
 * is found; when they come from the device, the keys of a group are all found first and their
 * values then brought into memory together.
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
  private record Found(int index, long tag, Region payload, long offset, int length) {}

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
    while (results.size() < keys.length) {
      if (values.isCold()) {
        getGroup(keys, results);
      } else {
        context.setKey(keyspace, keys[results.size()]);
        boolean found = points.find(view, context, moment);
        results.add(found ? points.value(context).toArray() : null);
      }
    }
    return results;
  }

  /** Adds the results of as many further keys as belong into a group. */
  private void getGroup(byte[][] keys, List<byte @Nullable []> results) {
    ReadBatch batch = values.newBatch();
    List<Found> separate = new ArrayList<>();
    while (results.size() < keys.length
        && separate.size() < GROUP_KEYS_MAX
        && batch.bytes() < GROUP_BYTES_MAX) {
      int index = results.size();
      context.setKey(keyspace, keys[index]);
      results.add(null);
      if (!points.find(view, context, moment)) {
        continue;
      }
      int kind = Tag.kind(context.tag);
      if (Tag.baseKind(kind) == Tag.PUT) {
        results.set(index, points.value(context).toArray());
        continue;
      }
      Region payload = Objects.requireNonNull(context.payloadRegion);
      batch.add(payload, context.payloadOffset + Payload.headerLength(kind));
      separate.add(
          new Found(index, context.tag, payload, context.payloadOffset, context.payloadLength));
    }
    batch.prepare();
    try {
      device.start(batch, context.scratch);
      batch.finish(context.scratch);
      for (Found found : separate) {
        results.set(found.index, read(found, keys[found.index], batch));
      }
    } finally {
      batch.cancel();
    }
  }

  private byte[] read(Found found, byte[] key, ReadBatch batch) {
    context.setKey(keyspace, key);
    context.tag = found.tag;
    context.payloadRegion = found.payload;
    context.payloadOffset = found.offset;
    context.payloadLength = found.length;
    long pointer = found.offset + Payload.headerLength(Tag.kind(found.tag));
    if (batch.holds(found.payload, pointer)) {
      context.scratch.expectLoaded();
    }
    return points.value(context).toArray();
  }
}
