package io.kvsep.server.redis;

import io.kvsep.server.json.JsonObject;
import io.kvsep.server.meter.Timings;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Counts commands by kind and measures their latency: from the event loop having read all its
 * sockets until the reply is written and, for writes, committed. The clock is read once for all
 * commands of a round. Thread safe.
 */
final class CommandMeter {
  enum Kind {
    READ,
    WRITE,
    OTHER;

    /** {@link #OTHER} for an unknown command. */
    static Kind of(@Nullable Command command) {
      if (command == null) {
        return OTHER;
      }
      return switch (command.kind()) {
        case READ, READ_TOGETHER, LONG_READ -> READ;
        case WRITE -> WRITE;
        case SESSION, GREETING, CONTROL -> OTHER;
      };
    }
  }

  /** Number of commands of each kind. For one thread. */
  static final class Tally {
    private final int[] counts = new int[Kind.values().length];

    void add(Kind kind, int count) {
      counts[kind.ordinal()] += count;
    }

    void add(Tally other) {
      for (int i = 0; i < counts.length; i++) {
        counts[i] += other.counts[i];
      }
    }

    int sum() {
      int sum = 0;
      for (int count : counts) {
        sum += count;
      }
      return sum;
    }

    void clear() {
      Arrays.fill(counts, 0);
    }
  }

  private final Timings[] timings = new Timings[Kind.values().length];

  CommandMeter() {
    Arrays.setAll(timings, i -> new Timings());
  }

  /** Records commands that all took the same time. */
  void record(Tally tally, long tookNanos) {
    for (int i = 0; i < timings.length; i++) {
      if (tally.counts[i] > 0) {
        timings[i].record(tally.counts[i], tookNanos);
      }
    }
  }

  void bindTo(MeterRegistry registry) {
    Map<String, Timings> operations = new TreeMap<>();
    for (Kind kind : Kind.values()) {
      operations.put(name(kind), timings[kind.ordinal()]);
    }
    Timings.bindTo(
        registry,
        "kvsep.redis.commands",
        "Commands of Redis clients that were answered",
        operations);
  }

  JsonObject json() {
    JsonObject all = new JsonObject();
    for (Kind kind : Kind.values()) {
      all.put(name(kind), timings[kind.ordinal()].json());
    }
    return all;
  }

  private static String name(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }
}
