package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.WriteBatch;
import io.kvsep.error.LimitExceededException;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Encodes one request: conditions, and writes that take place if all of them hold. {@link Request}
 * describes the format. Not thread safe.
 */
final class RequestWriter {
  private static final int KEY_BYTES_MAX = 65_535;

  private final long bytesMax;
  private final Map<String, Integer> keyspaces = new LinkedHashMap<>();
  private final ByteArrayOutputStream conditionBytes = new ByteArrayOutputStream();
  private final ByteArrayOutputStream writeBytes = new ByteArrayOutputStream();
  private final DataOutputStream conditions = new DataOutputStream(conditionBytes);
  private final DataOutputStream writes = new DataOutputStream(writeBytes);
  private int conditionCount;
  private int writeCount;

  /**
   * @param bytesMax the longest request that is allowed
   */
  RequestWriter(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  static byte[] createKeyspaces(List<String> names) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    try {
      out.writeByte(Request.CREATE);
      writeNames(out, names);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  static byte[] dropKeyspace(String name) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    try {
      out.writeByte(Request.DROP);
      writeNames(out, List.of(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  /** Another writer that has what this one has. */
  RequestWriter copy() {
    RequestWriter copy = new RequestWriter(bytesMax);
    copy.keyspaces.putAll(keyspaces);
    raw(copy.conditions, conditionBytes.toByteArray());
    raw(copy.writes, writeBytes.toByteArray());
    copy.conditionCount = conditionCount;
    copy.writeCount = writeCount;
    return copy;
  }

  int writeCount() {
    return writeCount;
  }

  /** The key must be absent. */
  void absent(@Nullable String keyspace, byte[] key) {
    condition(Request.ABSENT, keyspace, key);
  }

  /** The key must have a value with this {@link ContentHash#ofValue}. */
  void valueIs(@Nullable String keyspace, byte[] key, byte[] hash) {
    condition(Request.VALUE, keyspace, key);
    raw(conditions, hash);
  }

  /** The key must have a value and an expiry with this {@link ContentHash#ofEntry}. */
  void entryIs(@Nullable String keyspace, byte[] key, byte[] hash) {
    condition(Request.ENTRY, keyspace, key);
    raw(conditions, hash);
  }

  /** The range must have this content. */
  void rangeIs(
      @Nullable String keyspace,
      byte @Nullable [] from,
      byte @Nullable [] to,
      ContentHash.Range content) {
    int index = index(keyspace);
    conditionCount++;
    try {
      conditions.writeByte(Request.RANGE);
      conditions.writeInt(index);
      bound(from);
      bound(to);
      conditions.writeInt(content.count());
      conditions.write(content.hash());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The writes of {@code batch}, in order. */
  RequestWriter addAll(WriteBatch batch) {
    batch.forEach(new Adder());
    return this;
  }

  void put(@Nullable String keyspace, byte[] key, byte[] value) {
    write(Request.PUT, keyspace, requireKey(key), value);
  }

  void put(@Nullable String keyspace, byte[] key, byte[] value, Duration timeToLive) {
    long millis = millis(timeToLive);
    write(Request.PUT_FOR, keyspace, requireKey(key), value);
    writeLong(millis);
  }

  void putUntil(@Nullable String keyspace, byte[] key, byte[] value, long expiresAtMillis) {
    if (expiresAtMillis <= 0) {
      throw new IllegalArgumentException("expiresAtMillis must be positive: " + expiresAtMillis);
    }
    write(Request.PUT_UNTIL, keyspace, requireKey(key), value);
    writeLong(expiresAtMillis);
  }

  void delete(@Nullable String keyspace, byte[] key) {
    write(Request.DELETE, keyspace, requireKey(key), new byte[0]);
  }

  void deleteRange(@Nullable String keyspace, byte[] from, byte[] to) {
    requireBound(Objects.requireNonNull(from, "from"));
    requireBound(Objects.requireNonNull(to, "to"));
    write(Request.DELETE_RANGE, keyspace, from, to);
  }

  /** Adds to a counter; the answer has its new value. */
  void increment(@Nullable String keyspace, byte[] key, long delta) {
    write(Request.INCREMENT, keyspace, requireKey(key), new byte[0]);
    writeLong(delta);
  }

  /** The request. The writer may go on after it. */
  byte[] toBytes() {
    ByteArrayOutputStream bytes =
        new ByteArrayOutputStream(conditionBytes.size() + writeBytes.size() + 64);
    DataOutputStream out = new DataOutputStream(bytes);
    try {
      out.writeByte(Request.WRITE);
      writeNames(out, new ArrayList<>(keyspaces.keySet()));
      out.writeInt(conditionCount);
      conditionBytes.writeTo(out);
      out.writeInt(writeCount);
      writeBytes.writeTo(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (bytes.size() > bytesMax) {
      throw tooLong(bytes.size());
    }
    return bytes.toByteArray();
  }

  static byte[] requireKey(byte[] key) {
    if (Objects.requireNonNull(key, "key").length == 0 || key.length > KEY_BYTES_MAX) {
      throw new LimitExceededException(
          "the key has " + key.length + " bytes, it must have 1 to " + KEY_BYTES_MAX);
    }
    return key;
  }

  private static void requireBound(byte[] bound) {
    if (bound.length > KEY_BYTES_MAX) {
      throw new LimitExceededException(
          "the key has " + bound.length + " bytes, the limit is " + KEY_BYTES_MAX);
    }
  }

  /** As the core converts it: less than a millisecond counts as one. */
  static long millis(Duration timeToLive) {
    Objects.requireNonNull(timeToLive, "timeToLive");
    if (timeToLive.isZero() || timeToLive.isNegative()) {
      throw new IllegalArgumentException("timeToLive must be positive: " + timeToLive);
    }
    return timeToLive.toSeconds() > Long.MAX_VALUE / 2000
        ? Long.MAX_VALUE / 2
        : Math.max(1, timeToLive.toMillis());
  }

  private void condition(int kind, @Nullable String keyspace, byte[] key) {
    requireKey(key);
    int index = index(keyspace);
    conditionCount++;
    try {
      conditions.writeByte(kind);
      conditions.writeInt(index);
      conditions.writeInt(key.length);
      conditions.write(key);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void bound(byte @Nullable [] bound) throws IOException {
    if (bound == null) {
      conditions.writeInt(-1);
    } else {
      conditions.writeInt(bound.length);
      conditions.write(bound);
    }
  }

  private void write(int kind, @Nullable String keyspace, byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    long bytes = (long) writeBytes.size() + key.length + value.length;
    if (bytes > bytesMax) {
      throw tooLong(bytes);
    }
    int index = index(keyspace);
    writeCount++;
    try {
      writes.writeByte(kind);
      writes.writeInt(index);
      writes.writeInt(key.length);
      writes.write(key);
      writes.writeInt(value.length);
      writes.write(value);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void writeLong(long number) {
    try {
      writes.writeLong(number);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void raw(DataOutputStream out, byte[] bytes) {
    try {
      out.write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private LimitExceededException tooLong(long bytes) {
    return new LimitExceededException(
        "the batch would have " + bytes + " bytes, the limit of the cluster is " + bytesMax);
  }

  /** 0 is the store's own keyspace. */
  private int index(@Nullable String keyspace) {
    if (keyspace == null) {
      return 0;
    }
    Integer index = keyspaces.get(keyspace);
    if (index == null) {
      index = keyspaces.size() + 1;
      keyspaces.put(keyspace, index);
    }
    return index;
  }

  private static @Nullable String name(@Nullable Keyspace keyspace) {
    return keyspace == null ? null : keyspace.name();
  }

  private static void writeNames(DataOutputStream out, List<String> names) throws IOException {
    out.writeInt(names.size());
    for (String name : names) {
      byte[] utf8 = requireName(name).getBytes(StandardCharsets.UTF_8);
      out.writeByte(utf8.length);
      out.write(utf8);
    }
  }

  /** The name of a keyspace as the core allows it, but not that of the group's own. */
  static String requireName(String name) {
    int bytes = Objects.requireNonNull(name, "name").getBytes(StandardCharsets.UTF_8).length;
    if (bytes == 0 || bytes > 255) {
      throw new IllegalArgumentException("the name must have 1 to 255 bytes in UTF-8: " + name);
    }
    if (name.equals(GroupStore.SYSTEM)) {
      throw new IllegalArgumentException("the keyspace " + name + " is that of the cluster");
    }
    return name;
  }

  /** Names the keyspaces of a batch. */
  private final class Adder implements WriteBatch.Visitor {
    @Override
    public void put(@Nullable Keyspace keyspace, byte[] key, byte[] value) {
      RequestWriter.this.put(name(keyspace), key, value);
    }

    @Override
    public void put(@Nullable Keyspace keyspace, byte[] key, byte[] value, Duration timeToLive) {
      RequestWriter.this.put(name(keyspace), key, value, timeToLive);
    }

    @Override
    public void putUntil(
        @Nullable Keyspace keyspace, byte[] key, byte[] value, long expiresAtMillis) {
      RequestWriter.this.putUntil(name(keyspace), key, value, expiresAtMillis);
    }

    @Override
    public void delete(@Nullable Keyspace keyspace, byte[] key) {
      RequestWriter.this.delete(name(keyspace), key);
    }

    @Override
    public void deleteRange(@Nullable Keyspace keyspace, byte[] from, byte[] to) {
      RequestWriter.this.deleteRange(name(keyspace), from, to);
    }
  }
}
