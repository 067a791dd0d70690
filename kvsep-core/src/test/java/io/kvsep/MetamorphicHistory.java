package io.kvsep;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A random history of calls. Each call draws what it needs from a seed of its own, so any part of a
 * history is one, too, in which the remaining calls do the same.
 */
final class MetamorphicHistory {
  /** What is called. */
  enum Kind {
    PUT(30),
    PUT_EXPIRING(6),
    DELETE(6),
    DELETE_RANGE(4),
    BATCH(10),
    COMPARE_AND_SET(4),
    GET(12),
    GET_ALL(3),
    SCAN(5),
    SEEK(5),
    COUNT(1),
    KEYSPACE(3),
    DROP(1),
    NAMES(1),
    SNAPSHOT(3),
    RELEASE(2),
    ADVANCE(3),
    SYNC(2),
    FLUSH(2),
    COMPACT(1),
    RECLAIM(1),
    /** Snapshots are released, and a run may close, kill or crash its store, as its options say. */
    PAUSE(1);

    private final int weight;

    Kind(int weight) {
      this.weight = weight;
    }
  }

  /** One call. */
  record Call(Kind kind, long seed) {
    Random random() {
      return new Random(seed);
    }

    @Override
    public String toString() {
      return kind + " " + seed;
    }
  }

  private MetamorphicHistory() {}

  static List<Call> drawn(long seed, int length) {
    Random random = new Random(seed);
    int sum = 0;
    for (Kind kind : Kind.values()) {
      sum += kind.weight;
    }
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      int dice = random.nextInt(sum);
      int kind = 0;
      while (dice >= Kind.values()[kind].weight) {
        dice -= Kind.values()[kind++].weight;
      }
      calls.add(new Call(Kind.values()[kind], random.nextInt(1_000_000)));
    }
    return calls;
  }

  /** Whether two runs of a history still show what is being looked for. */
  interface Finding {
    boolean in(List<Call> calls);
  }

  /** As short a part of the history as is found in some tries that still shows it. */
  static List<Call> shrunken(List<Call> calls, Finding finding, int triesMax) {
    List<Call> shortest = calls;
    int tries = 0;
    for (int length = Math.max(1, calls.size() / 2); length > 0; length /= 2) {
      int from = 0;
      while (from < shortest.size() && tries++ < triesMax) {
        List<Call> less = new ArrayList<>(shortest.subList(0, from));
        less.addAll(shortest.subList(Math.min(shortest.size(), from + length), shortest.size()));
        if (finding.in(less)) {
          shortest = less;
        } else {
          from += length;
        }
      }
    }
    return shortest;
  }
}
