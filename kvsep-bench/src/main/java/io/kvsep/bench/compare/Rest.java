package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What a store gets between writing and reads, in this order. */
enum Rest {
  /** Nothing: it is closed and opened. */
  NONE("none", ""),
  /** The engine's own call of maintenance, such as a full compaction. */
  SETTLED("settled", "-settled"),
  /** Engines with background work are left alone until they are idle. */
  IDLE("idle", "-idle");

  final String word;

  /** Behind the names of workloads that follow it. */
  final String suffix;

  Rest(String word, String suffix) {
    this.word = word;
    this.suffix = suffix;
  }

  static List<Rest> parse(String words) {
    List<Rest> rests = new ArrayList<>();
    for (String word : words.split(",", -1)) {
      Rest rest = of(word);
      if (rests.contains(rest)) {
        throw new UsageException("--rest has " + word + " twice");
      }
      rests.add(rest);
    }
    Collections.sort(rests);
    return rests;
  }

  private static Rest of(String word) {
    for (Rest rest : values()) {
      if (rest.word.equals(word)) {
        return rest;
      }
    }
    throw new UsageException("--rest must be of none, settled, idle: " + word);
  }

  static String words(List<Rest> rests) {
    return String.join(",", rests.stream().map(rest -> rest.word).toList());
  }
}
