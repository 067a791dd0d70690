package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random commands, in random pipelines, against a plain map. */
final class RedisModelTest {
  private static final int KEYS = 6;

  private record Value(String text, long expiresAt) {}

  /** One database as it should be. */
  private static final class Model {
    final Map<String, Value> values = new TreeMap<>();
    final ManualClock clock;

    Model(ManualClock clock) {
      this.clock = clock;
    }

    void expire() {
      values.values().removeIf(value -> value.expiresAt <= clock.millis());
    }

    String bulk(String key) {
      Value value = values.get(key);
      return value == null ? "$-1^" : "$" + value.text.length() + "^" + value.text + "^";
    }

    void put(String key, String text) {
      Value old = values.get(key);
      values.put(key, new Value(text, old == null ? Long.MAX_VALUE : old.expiresAt));
    }
  }

  @TempDir Path directory;

  @Test
  void repliesAreThoseOfAMap() throws IOException {
    ManualClock clock = new ManualClock(1_000_000_000_000L);
    try (RunningRedis redis = RunningRedis.in(directory, clock, options -> options);
        RawClient client = redis.connect()) {
      Seeds.each(RedisModelTest.class, 12, random -> run(client, clock, random));
    }
  }

  private static void run(RawClient client, ManualClock clock, Random random) throws IOException {
    client.expect("FLUSHALL", "+OK^");
    Model model = new Model(clock);
    for (int round = 0; round < 40; round++) {
      StringBuilder sent = new StringBuilder();
      List<String> lines = new ArrayList<>();
      List<String> expected = new ArrayList<>();
      boolean together = random.nextInt(4) == 0;
      StringBuilder result = new StringBuilder();
      int count = 1 + random.nextInt(12);
      if (together) {
        add(sent, lines, expected, "MULTI", "+OK^");
      }
      for (int i = 0; i < count; i++) {
        String line = line(random, together);
        String reply = apply(model, line.split(" ", -1), clock);
        result.append(reply);
        add(sent, lines, expected, line, together ? "+QUEUED^" : reply);
      }
      if (together) {
        add(sent, lines, expected, "EXEC", "*" + count + "^" + result);
      }
      client.send(sent.toString().getBytes(ISO_8859_1));
      for (int i = 0; i < expected.size(); i++) {
        assertEquals(expected.get(i), client.reply(), lines.get(i));
      }
      clock.advance(random.nextInt(300));
    }
  }

  private static void add(
      StringBuilder sent, List<String> lines, List<String> expected, String line, String reply) {
    sent.append(line).append("\r\n");
    lines.add(line);
    expected.add(reply);
  }

  private static String line(Random random, boolean together) {
    String key = "k" + random.nextInt(KEYS);
    String other = "k" + random.nextInt(KEYS);
    int number = random.nextInt(1000);
    return switch (random.nextInt(16)) {
      case 0, 1 -> "SET " + key + " " + number;
      case 2 -> "SET " + key + " " + number + " PX " + (1 + number);
      case 3 -> "SET " + key + " " + number + " KEEPTTL";
      case 4 -> "SET " + key + " " + number + " NX";
      case 5 -> "GET " + key;
      case 6 -> "DEL " + key + " " + other;
      case 7 -> "INCRBY " + key + " " + number;
      case 8 -> "APPEND " + key + " 7";
      case 9 -> "PEXPIRE " + key + " " + (number - 20);
      case 10 -> "PERSIST " + key;
      case 11 -> "PTTL " + key;
      case 12 -> "RENAME " + key + " " + other;
      case 13 -> "EXISTS " + key + " " + other;
      case 14 -> together ? "SCAN 0 MATCH k*" : "KEYS k*";
      default -> "GETDEL " + key;
    };
  }

  private static String apply(Model model, String[] words, ManualClock clock) {
    model.expire();
    String key = words.length > 1 ? words[1] : "";
    Value old = model.values.get(key);
    return switch (words[0]) {
      case "SET" -> set(model, words, old, clock);
      case "GET" -> model.bulk(key);
      case "DEL" -> {
        int before = model.values.size();
        model
            .values
            .keySet()
            .removeAll(List.of(words[1], words[1].equals(words[2]) ? "" : words[2]));
        yield ":" + (before - model.values.size()) + "^";
      }
      case "INCRBY" -> increment(model, key, old, words[2]);
      case "APPEND" -> {
        String text = (old == null ? "" : old.text) + words[2];
        model.put(key, text);
        yield ":" + text.length() + "^";
      }
      case "PEXPIRE" -> pexpire(model, key, old, Long.parseLong(words[2]), clock);
      case "PERSIST" -> {
        if (old == null || old.expiresAt == Long.MAX_VALUE) {
          yield ":0^";
        }
        model.values.put(key, new Value(old.text, Long.MAX_VALUE));
        yield ":1^";
      }
      case "PTTL" -> {
        long left = old == null ? -2 : -1;
        if (old != null && old.expiresAt != Long.MAX_VALUE) {
          left = old.expiresAt - clock.millis();
        }
        yield ":" + left + "^";
      }
      case "RENAME" -> {
        if (old == null) {
          yield "-ERR no such key^";
        }
        model.values.remove(key);
        model.values.put(words[2], old);
        yield "+OK^";
      }
      case "EXISTS" -> {
        int count = (old == null ? 0 : 1) + (model.values.containsKey(words[2]) ? 1 : 0);
        yield ":" + count + "^";
      }
      case "KEYS", "SCAN" -> {
        StringBuilder reply = new StringBuilder(words[0].equals("SCAN") ? "*2^$1^0^" : "");
        reply.append("*" + model.values.size() + "^");
        model.values.keySet().forEach(each -> reply.append("$2^").append(each).append('^'));
        yield reply.toString();
      }
      default -> {
        String reply = model.bulk(key);
        model.values.remove(key);
        yield reply;
      }
    };
  }

  private static String set(Model model, String[] words, @Nullable Value old, ManualClock clock) {
    String option = words.length > 3 ? words[3] : "";
    if (option.equals("NX") && old != null) {
      return "$-1^";
    }
    long expiresAt = Long.MAX_VALUE;
    if (option.equals("PX")) {
      expiresAt = clock.millis() + Long.parseLong(words[4]);
    } else if (option.equals("KEEPTTL") && old != null) {
      expiresAt = old.expiresAt;
    }
    model.values.put(words[1], new Value(words[2], expiresAt));
    return "+OK^";
  }

  private static String increment(Model model, String key, @Nullable Value old, String amount) {
    try {
      String before = old == null ? "0" : old.text;
      if (before.length() > 1 && before.startsWith("0")) {
        throw new NumberFormatException();
      }
      long sum = Math.addExact(Long.parseLong(before), Long.parseLong(amount));
      model.put(key, Long.toString(sum));
      return ":" + sum + "^";
    } catch (NumberFormatException e) {
      return "-ERR value is not an integer or out of range^";
    } catch (ArithmeticException e) {
      return "-ERR increment or decrement would overflow^";
    }
  }

  private static String pexpire(
      Model model, String key, @Nullable Value old, long millis, ManualClock clock) {
    if (old == null) {
      return ":0^";
    }
    if (millis <= 0) {
      model.values.remove(key);
    } else {
      model.values.put(key, new Value(old.text, clock.millis() + millis));
    }
    return ":1^";
  }
}
