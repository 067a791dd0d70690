package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvStore;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Drawn entries of a log, with conditions that hold and do not, expiry and keyspaces. */
final class History {
  private static final List<String> NAMES = List.of("a", "b");
  private static final byte[] EMPTY_RANGE = emptyRange();

  private History() {}

  /** Entries by index. */
  static List<byte[]> draw(Random random, int count) {
    List<byte[]> entries = new ArrayList<>();
    long time = 1_000_000;
    for (int i = 0; i < count; i++) {
      // Leaders do not agree on the time.
      time += random.nextInt(40) - 5;
      List<byte[]> requests = new ArrayList<>();
      if (random.nextInt(12) == 0) {
        String name = NAMES.get(random.nextInt(NAMES.size()));
        requests.add(
            random.nextInt(3) > 0
                ? RequestWriter.createKeyspaces(List.of(name))
                : RequestWriter.dropKeyspace(name));
      } else {
        int several = 1 + random.nextInt(3);
        for (int r = 0; r < several; r++) {
          requests.add(request(random));
        }
      }
      entries.add(entry(time, requests));
    }
    return entries;
  }

  static byte[] entry(long timeMillis, List<byte[]> requests) {
    byte[] stamp = LogEntry.stamp(timeMillis);
    byte[] body = LogEntry.body(requests);
    return ByteBuffer.allocate(stamp.length + body.length).put(stamp).put(body).array();
  }

  private static byte[] request(Random random) {
    RequestWriter request = new RequestWriter(1 << 20);
    if (random.nextInt(6) == 0) {
      request.increment(keyspace(random), key(random), random.nextInt(5) - 2);
      return request.toBytes();
    }
    for (int i = random.nextInt(3); i > 0; i--) {
      condition(random, request);
    }
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      write(random, request);
    }
    return request.toBytes();
  }

  private static void condition(Random random, RequestWriter request) {
    String keyspace = keyspace(random);
    byte[] key = key(random);
    switch (random.nextInt(3)) {
      case 0 -> request.absent(keyspace, key);
      case 1 -> request.valueIs(keyspace, key, ContentHash.ofValue(ByteBuffer.wrap(value(random))));
      default -> request.rangeIs(keyspace, key, null, new ContentHash.Range(0, EMPTY_RANGE));
    }
  }

  private static byte[] emptyRange() {
    try (KvStore empty = KvStore.inMemory()) {
      return Conditions.range(empty, null, null, 1).hash();
    }
  }

  private static void write(Random random, RequestWriter request) {
    String keyspace = keyspace(random);
    byte[] key = key(random);
    switch (random.nextInt(7)) {
      case 0 ->
          request.put(keyspace, key, value(random), Duration.ofMillis(1 + random.nextInt(60)));
      case 1 -> request.putUntil(keyspace, key, value(random), 1_000_000 + random.nextInt(2_000));
      case 2 -> request.delete(keyspace, key);
      case 3 -> request.deleteRange(keyspace, key, key(random));
      default -> request.put(keyspace, key, value(random));
    }
  }

  private static @Nullable String keyspace(Random random) {
    int drawn = random.nextInt(5);
    return drawn < NAMES.size() ? NAMES.get(drawn) : null;
  }

  static byte[] key(Random random) {
    return ("k" + random.nextInt(4)).getBytes(UTF_8);
  }

  static byte[] value(Random random) {
    return random.nextInt(4) == 0
        ? new byte[Long.BYTES]
        : ("v" + random.nextInt(2)).getBytes(UTF_8);
  }
}
