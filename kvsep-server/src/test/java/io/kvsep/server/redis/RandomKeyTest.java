package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keys are drawn evenly. */
final class RandomKeyTest {
  private static final long NOW = 1_000_000_000_000L;

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory, clock, options -> options);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  private void all(String... linesAndReplies) throws IOException {
    for (int i = 0; i < linesAndReplies.length; i += 2) {
      client.expect(linesAndReplies[i], linesAndReplies[i + 1]);
    }
  }

  private final AtomicLong nanos = new AtomicLong();
  private final List<Runnable> background = new ArrayList<>();

  /** Each look at the clock takes one nanosecond, so a survey does. */
  private KeySurveys surveys() {
    Entries.Spaces databases = redis.server.state().databases().present();
    return new KeySurveys(databases, clock, nanos::getAndIncrement, background::add);
  }

  private void put(int count, IntFunction<String> key) {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < count; i++) {
      batch.put(key.apply(i).getBytes(US_ASCII), new byte[0]);
    }
    redis.store.write(batch);
  }

  /** How often each key was drawn. */
  private Map<String, Integer> draw(int times) throws IOException {
    Map<String, Integer> drawn = new HashMap<>();
    for (int sent = 0; sent < times; sent += 100) {
      client.send("RANDOMKEY^".repeat(100));
      for (int i = 0; i < 100; i++) {
        drawn.merge(client.reply().split("\\^", -1)[1], 1, Integer::sum);
      }
    }
    return drawn;
  }

  @Test
  void eachOfTwoKeysIsDrawnAsOftenAsTheOther() throws IOException {
    all("SET foo 1", "+OK^", "SET bar 1", "+OK^");

    int foo = draw(200).getOrDefault("foo", 0);

    // Seven standard deviations.
    assertTrue(foo > 50 && foo < 150, "foo " + foo + " of 200");
  }

  @Test
  void eachOfAThousandKeysIsDrawnAsOftenAsAnother() throws IOException {
    Random random = new Random(1);
    put(1000, i -> new UUID(random.nextLong(), random.nextLong()).toString());

    Map<String, Integer> drawn = draw(3000);

    // 950 are expected, and the standard deviation is below 7.
    assertTrue(drawn.size() > 900, drawn.size() + " different keys");
    int most = drawn.values().stream().max(Integer::compare).orElse(0);
    assertTrue(most < 20, "one key " + most + " times of 3000");
  }

  /** Where names begin alike, and few do not, places between names say nothing. */
  @Test
  void keysOfALargeStoreAreDrawnEvenlyHoweverTheirNamesLie() throws IOException {
    int count = 30_000;
    put(count - 10, i -> String.format(Locale.ROOT, "user:%06d", i));
    put(10, i -> "x" + "y".repeat(20 * i));

    int[] parts = new int[3];
    int others = 0;
    for (Map.Entry<String, Integer> key : draw(3000).entrySet()) {
      if (key.getKey().startsWith("user:")) {
        parts[Integer.parseInt(key.getKey().substring(5)) / (count / 3)] += key.getValue();
      } else {
        others += key.getValue();
      }
    }

    for (int part : parts) {
      // Of 1,000, six standard deviations.
      assertTrue(part > 845 && part < 1155, "a third of the keys " + part + " times of 3000");
    }
    assertTrue(others < 15, "a few of the keys " + others + " times of 3000");
  }

  @Test
  void aSurveyFindsEveryKeyWithTheSameProbability() {
    for (int count : new int[] {1, 2, 3, 4095, 4096, 4097, 20_000}) {
      redis.store.deleteRange(new byte[0], new byte[] {'~'});
      put(count, i -> String.format(Locale.ROOT, "%05d", i));
      try (KvCursor cursor = redis.store.cursor(ScanOptions.all().keysOnly());
          KvCursor drawing = redis.store.cursor(ScanOptions.all().keysOnly())) {
        KeySurvey survey = KeySurvey.of(cursor, 0);
        assertEquals(count, survey.keys());
        for (int i = 0; i < 300; i++) {
          int place = i * 67 % count;
          byte[] key = survey.draw(drawing, at(place));
          assertEquals(String.format(Locale.ROOT, "%05d", place), new String(key, US_ASCII));
        }
      }
    }
  }

  /** Draws one number. */
  private static Random at(int place) {
    return new Random(0) {
      private static final long serialVersionUID = 1L;

      @Override
      public long nextLong(long bound) {
        return place;
      }
    };
  }

  @Test
  void aSurveyOfLongKeysKeepsFewOfThem() {
    put(200, i -> String.format(Locale.ROOT, "%03d", i) + "k".repeat(60_000));
    try (KvCursor cursor = redis.store.cursor(ScanOptions.all().keysOnly());
        KvCursor drawing = redis.store.cursor(ScanOptions.all().keysOnly())) {
      KeySurvey survey = KeySurvey.of(cursor, 0);
      for (int place = 0; place < 200; place++) {
        byte[] key = survey.draw(drawing, at(place));
        assertEquals(place, Integer.parseInt(new String(key, 0, 3, US_ASCII)));
      }
    }
  }

  @Test
  void keysThatWereRemovedSinceASurveyAreNotDrawn() {
    put(10, i -> "k" + i);
    KeySurvey survey;
    try (KvCursor cursor = redis.store.cursor(ScanOptions.all().keysOnly())) {
      survey = KeySurvey.of(cursor, 0);
    }
    List<String> drawn = new ArrayList<>();
    redis.store.deleteRange("k3".getBytes(US_ASCII), "k9~".getBytes(US_ASCII));
    try (KvCursor cursor = redis.store.cursor(ScanOptions.all().keysOnly())) {
      for (int place = 0; place < 10; place++) {
        drawn.add(new String(survey.draw(cursor, at(place)), US_ASCII));
      }
    }
    assertEquals("k0 k1 k2 k2 k2 k2 k2 k2 k2 k2", String.join(" ", drawn));
    redis.store.deleteRange(new byte[0], new byte[] {'~'});
    try (KvCursor cursor = redis.store.cursor(ScanOptions.all().keysOnly())) {
      assertNull(survey.draw(cursor, at(5)));
    }
  }

  @Test
  void aLargeDatabaseIsSurveyedAgainWhenThatIsDue() {
    KeySurveys surveys = surveys();
    int small = KeySurveys.SMALL_KEYS_MAX;
    put(small, i -> "k" + i);
    assertEquals(small, surveys.recent(0).keys());
    put(1, i -> "one more");
    assertEquals(small + 1, surveys.recent(0).keys());
    long end = nanos.get() - 1;
    put(1, i -> "another");
    nanos.set(end + KeySurveys.VALIDITY - 1);
    assertEquals(small + 1, surveys.recent(0).keys());
    nanos.set(end + KeySurveys.VALIDITY);
    assertEquals(small + 2, surveys.recent(0).keys());
    put(1, i -> "a last one");
    surveys.forget();
    assertEquals(small + 3, surveys.recent(0).keys());
  }

  @Test
  void whoAsksForTheLatestSurveyDoesNotWaitForALargeDatabase() {
    KeySurveys surveys = surveys();
    int small = KeySurveys.SMALL_KEYS_MAX;
    put(small, i -> "k" + i);
    assertEquals(small, surveys.latest(0, 5).keys());
    assertEquals(0, background.size());
    put(small, i -> "l" + i);
    assertEquals(30_000, surveys.latest(0, 30_000).keys());
    assertEquals(small + 1, surveys.latest(0, 5).keys());
    assertEquals(1, background.size(), "one survey at a time");
    background.remove(0).run();
    assertEquals(2L * small, surveys.latest(0, 30_000).keys());
    put(1, i -> "one more");
    nanos.addAndGet(KeySurveys.VALIDITY);
    assertEquals(2L * small, surveys.latest(0, 30_000).keys());
    background.remove(0).run();
    assertEquals(2L * small + 1, surveys.latest(0, 30_000).keys());
    nanos.addAndGet(KeySurveys.VALIDITY);
    redis.store.deleteRange("l".getBytes(US_ASCII), "m".getBytes(US_ASCII));
    assertEquals(2L * small + 1, surveys.latest(0, 30_000).keys());
    background.remove(0).run();
    assertEquals(small + 1, surveys.recent(0).keys());
  }

  @Test
  void aSurveyThatFailsIsTriedAgain() {
    AtomicBoolean isBroken = new AtomicBoolean();
    Entries.Spaces databases = redis.server.state().databases().present();
    Entries.Spaces breaking =
        database -> {
          if (isBroken.get()) {
            throw new IllegalStateException("the keyspace was dropped");
          }
          return databases.at(database);
        };
    KeySurveys surveys = new KeySurveys(breaking, clock, nanos::getAndIncrement, background::add);
    put(KeySurveys.SMALL_KEYS_MAX + 1, i -> "k" + i);
    surveys.latest(0, 5);
    isBroken.set(true);
    background.remove(0).run();
    isBroken.set(false);
    surveys.latest(0, 5);
    background.remove(0).run();
    assertEquals(KeySurveys.SMALL_KEYS_MAX + 1, surveys.latest(0, 30_000).keys());
  }
}
