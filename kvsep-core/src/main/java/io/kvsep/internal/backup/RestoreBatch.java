package io.kvsep.internal.backup;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.vlog.RecordSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Records of a backup that are written together. Not thread safe. */
final class RestoreBatch extends RecordSource {
  private static final int RECORDS_MAX = 4096;
  private static final long PAYLOAD_BYTES_MAX = 1 << 20;

  private record Entry(
      int kind, int keyspace, byte[] key, byte @Nullable [] value, long expiresAtMillis) {}

  private final List<Entry> entries = new ArrayList<>();
  private final Set<Integer> keyspaces = new HashSet<>();
  private long payloadBytes;
  private int next;

  /**
   * Adds a record with a stored key. Skips deletes of impossible keys, which older backups contain
   * next to ranges and followers of the change feed could not apply.
   */
  void add(int kind, byte[] storedKey, byte @Nullable [] value, long expiresAtMillis) {
    int id = Keyspaces.of(storedKey);
    byte[] userKey = Arrays.copyOfRange(storedKey, Keyspaces.prefixLength(id), storedKey.length);
    if (kind == Tag.DELETE && (userKey.length == 0 || userKey.length > Limits.KEY_BYTES_MAX)) {
      return;
    }
    entries.add(new Entry(kind, id, userKey, value, expiresAtMillis));
    int valueLength = value == null ? 0 : value.length;
    if (kind == Tag.RANGE_DELETE) {
      valueLength = Math.max(0, valueLength - Keyspaces.prefixLength(id));
    }
    payloadBytes += userKey.length + valueLength;
    if (id != Keyspaces.DEFAULT) {
      keyspaces.add(id);
    }
  }

  boolean isFull() {
    return entries.size() >= RECORDS_MAX || payloadBytes >= PAYLOAD_BYTES_MAX;
  }

  Set<Integer> keyspaces() {
    return keyspaces;
  }

  void clear() {
    entries.clear();
    keyspaces.clear();
    payloadBytes = 0;
  }

  @Override
  public void rewind() {
    next = 0;
  }

  @Override
  public boolean next() {
    if (next == entries.size()) {
      return false;
    }
    Entry entry = entries.get(next++);
    kind = entry.kind();
    keyspace = entry.keyspace();
    key = entry.key();
    keyOffset = 0;
    keyLength = entry.key().length;
    byte[] bytes = entry.value();
    value = bytes;
    valueOffset = 0;
    valueLength = bytes == null ? 0 : bytes.length;
    expiresAtMillis = entry.expiresAtMillis();
    return true;
  }

  @Override
  public int recordCount() {
    return entries.size();
  }

  @Override
  public long payloadBytes() {
    return payloadBytes;
  }
}
