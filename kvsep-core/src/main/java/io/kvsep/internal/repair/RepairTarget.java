package io.kvsep.internal.repair;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.write.BatchWrites;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes keys to the new store in batches. */
final class RepairTarget {
  private static final long BATCH_BYTES = 1 << 20;
  private static final int BATCH_COUNT = 4096;

  private static final String NAMELESS = "keyspace-";

  private final StorageEngine engine;
  private final long nowMillis;
  private final Map<Integer, String> names = new HashMap<>();
  private final Map<Integer, Integer> ids = new HashMap<>();
  private final BatchWrites batch = new BatchWrites();
  private long keys;
  private long valueBytes;

  /**
   * @param engine has a clock fixed at {@code nowMillis}
   * @param names ids in the old store by name
   */
  RepairTarget(StorageEngine engine, long nowMillis, Map<String, Integer> names) {
    this.engine = engine;
    this.nowMillis = nowMillis;
    names.forEach((name, id) -> this.names.put(id, name));
  }

  void makeKeyspaces() {
    names.forEach((id, name) -> ids.put(id, engine.keyspaces().open(name)));
  }

  /** Returns -1 if the key is invalid. */
  static int keyspaceOf(byte[] stored) {
    int id = Keyspaces.of(stored);
    return id >= 0 && stored.length > Keyspaces.prefixLength(id) ? id : -1;
  }

  static byte[] userKey(byte[] stored) {
    int prefix = (stored[0] & 0xff) < Keyspaces.LONG_FORM ? 1 : 5;
    return stored.length <= prefix
        ? new byte[0]
        : Arrays.copyOfRange(stored, prefix, stored.length);
  }

  /** Empty for the store's own; null if lost. */
  @Nullable String name(int keyspace) {
    return keyspace == Keyspaces.DEFAULT ? "" : names.get(keyspace);
  }

  String invent(int keyspace) {
    String name = NAMELESS + keyspace;
    while (names.containsValue(name)) {
      name += "-";
    }
    names.put(keyspace, name);
    return name;
  }

  void put(int keyspace, byte[] key, byte[] value, long expiresAtMillis) {
    int id =
        keyspace == Keyspaces.DEFAULT
            ? keyspace
            : ids.computeIfAbsent(
                keyspace, old -> engine.keyspaces().open(String.valueOf(name(old))));
    long timeToLive = expiresAtMillis == Payload.NEVER ? 0 : expiresAtMillis - nowMillis;
    if (batch.count() > 0 && batch.payloadBytes() + key.length + value.length > BATCH_BYTES) {
      write();
    }
    batch.put(id, key, value, timeToLive);
    keys++;
    valueBytes += value.length;
    if (batch.count() == BATCH_COUNT) {
      write();
    }
  }

  /** Writes the rest, durably. */
  void finish() {
    write();
    engine.flush();
    engine.sync();
  }

  long keys() {
    return keys;
  }

  long valueBytes() {
    return valueBytes;
  }

  private void write() {
    if (batch.count() > 0) {
      engine.writes().write(batch, null);
      batch.clear();
    }
  }
}
