package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.Keyspace;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import io.kvsep.WriteBatch;
import io.kvsep.error.StorageException;
import io.kvsep.server.http.EventStream.Event;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client that follows a store over HTTP gets what a follower in the process gets. */
@Timeout(120)
final class FollowersHttpTest {
  private static final int WRITERS = 3;
  private static final String END = "end-";

  @TempDir Path folder;

  @Test
  void allChangesOfManyWritersComeInOrderAlsoToThoseWhoBreakOff() {
    Seeds.each(
        FollowersHttpTest.class,
        1,
        random -> {
          ExecutorService threads = Executors.newFixedThreadPool(WRITERS + 2);
          try (Served served = retaining(folder.resolve("store"))) {
            served.store().keyspace("s");
            int cuts = random.nextInt();
            Future<List<String>> whole = threads.submit(() -> follow(served, new Random(1), false));
            Future<List<String>> cut = threads.submit(() -> follow(served, new Random(cuts), true));
            List<Future<?>> writers = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
              int writer = i;
              long seed = random.nextLong();
              writers.add(threads.submit(() -> write(served.store(), writer, new Random(seed))));
            }
            for (Future<?> writer : writers) {
              writer.get();
            }
            List<String> expected = changes(served.store());
            assertEquals(expected, whole.get());
            assertEquals(expected, cut.get());
          } finally {
            threads.shutdownNow();
          }
        });
  }

  /** Followers that break off hold nothing back meanwhile, so reclaim could take their changes. */
  private static Served retaining(Path directory) {
    KvOptions options =
        KvOptions.builder()
            .memoryBudgetBytes(32 << 20)
            .segmentBytes(8 << 20)
            .changeRetentionBytes(256 << 20)
            .build();
    return Served.of(KvStore.open(directory, options), HttpOptions.builder().build());
  }

  private static void write(KvStore store, int writer, Random random) {
    Keyspace space = store.keyspace("s");
    for (int i = 0; i < 250; i++) {
      KvWriter some = random.nextBoolean() ? store : store.in(space);
      byte[] key = bytes("k" + random.nextInt(100));
      byte[] value = new byte[random.nextInt(40) == 0 ? 200_000 : random.nextInt(300)];
      random.nextBytes(value);
      switch (random.nextInt(6)) {
        case 0 -> some.delete(key);
        case 1 -> some.deleteRange(key, bytes("l"));
        case 2 -> some.put(key, value, Duration.ofHours(1));
        case 3 -> {
          WriteBatch batch = new WriteBatch();
          batch.put(key, value).in(space).delete(key).put(key, value).inDefault().delete(key);
          store.write(batch);
        }
        default -> some.put(key, value);
      }
    }
    store.put(bytes(END + writer), bytes("x"));
    store.sync();
  }

  /** Until the last change of every writer has come. */
  private static List<String> follow(Served served, Random random, boolean breaksOff)
      throws Exception {
    List<String> seen = new ArrayList<>();
    int ends = 0;
    String[] last = {};
    while (ends < WRITERS) {
      try (EventStream feed = EventStream.of(served.stream("/v1/changes?after=0", last))) {
        int count = breaksOff ? random.nextInt(150) : Integer.MAX_VALUE;
        for (int i = 0; i < count && ends < WRITERS; i++) {
          String change = text(feed.next());
          seen.add(change);
          ends += change.contains(HexFormat.of().formatHex(bytes(END))) ? 1 : 0;
        }
        last = new String[] {"Last-Event-ID", feed.lastId()};
      }
    }
    return seen;
  }

  private static List<String> changes(KvStore store) {
    List<String> all = new ArrayList<>();
    try (ChangeFeed feed = store.changes(0)) {
      for (Change change = feed.poll(); change != null; change = feed.poll()) {
        boolean isPut = change.kind() == Change.Kind.PUT;
        all.add(
            text(
                change.sequence(),
                change.kind().name(),
                change.keyspaceId() + "/" + change.keyspace(),
                change.key(),
                isPut ? change.value() : null,
                isPut && change.expiresAtMillis().isPresent()
                    ? change.expiresAtMillis().getAsLong()
                    : null,
                !change.endsCommit()));
      }
    }
    return all;
  }

  private static String text(Event event) {
    assertEquals("", event.name(), event::data);
    Map<String, Object> line = event.json();
    ApiDocument.checkMembers("Change", line);
    String kind = String.valueOf(line.get("kind"));
    Object value = line.get("value");
    return text(
        ((Long) line.getOrDefault("sequence", 0L)).longValue(),
        kind.equals("deleteRange") ? "DELETE_RANGE" : kind.toUpperCase(Locale.ROOT),
        line.get("keyspaceId") + "/" + line.get("keyspace"),
        bytes(String.valueOf(line.getOrDefault("key", line.get("from")))),
        value == null ? null : Base64.getDecoder().decode((String) value),
        line.get("expiresAtMillis"),
        Boolean.TRUE.equals(line.get("more")));
  }

  private static String text(
      long sequence,
      String kind,
      String keyspace,
      byte[] key,
      byte @Nullable [] value,
      @Nullable Object end,
      boolean more) {
    return sequence
        + " "
        + kind
        + " "
        + keyspace
        + " "
        + HexFormat.of().formatHex(key)
        + (value == null ? "" : " " + value.length + ":" + Arrays.hashCode(value))
        + " "
        + end
        + (more ? "," : ".");
  }

  @Test
  void anErrorOfTheDeviceEndsAFeedWithAnEventThatTells() throws Exception {
    AtomicBoolean isBroken = new AtomicBoolean();
    try (Served served =
        Served.at(folder, HttpOptions.builder().build(), store -> breaking(store, isBroken))) {
      try (EventStream feed = EventStream.of(served.stream("/v1/changes"))) {
        isBroken.set(true);
        Event problem = feed.next();
        assertEquals("problem", problem.name());
        assertEquals("urn:kvsep:problem:storage", problem.json().get("type"));
        feed.assertEnds();
      }
      isBroken.set(false);
      try (EventStream feed = EventStream.of(served.stream("/v1/changes?after=0"))) {
        served.put("/v1/keys/a", "1", "Kvsep-Durability", "sync").is(204);
        assertEquals("a", feed.next().json().get("key"));
      }
    }
  }

  private static KvStore breaking(KvStore store, AtomicBoolean isBroken) {
    return (KvStore)
        Proxy.newProxyInstance(
            KvStore.class.getClassLoader(),
            new Class<?>[] {KvStore.class},
            (proxy, method, arguments) -> {
              try {
                Object result = method.invoke(store, arguments);
                return result instanceof ChangeFeed feed ? breaking(feed, isBroken) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static ChangeFeed breaking(ChangeFeed feed, AtomicBoolean isBroken) {
    return new ChangeFeed() {
      @Override
      public @Nullable Change poll() {
        if (isBroken.get()) {
          throw new StorageException("no", new IOException("Input/output error"));
        }
        return feed.poll();
      }

      @Override
      public @Nullable Change poll(Duration atMost) {
        return feed.poll(atMost);
      }

      @Override
      public void close() {
        feed.close();
      }
    };
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
