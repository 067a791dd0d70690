package io.kvsep.bench.compare;

import java.util.ArrayList;
import java.util.List;

/** A mix of operations on random entries. The shares are per cent, and the rest are gets. */
record Mix(
    String name, int puts, int inserts, int scans, int modifications, Choice choice, String title) {

  /** How entries are chosen. */
  enum Choice {
    UNIFORM,
    /** By {@link Zipf}, scattered over all keys. */
    ZIPF,
    /** By {@link Zipf}, the entry last written the most. */
    LATEST
  }

  /** Workloads A to F of the Yahoo Cloud Serving Benchmark, those that insert at the end. */
  private static final List<Mix> YCSB =
      List.of(
          new Mix("ycsb_a", 50, 0, 0, 0, Choice.ZIPF, "YCSB A: 50 % get, 50 % put"),
          new Mix("ycsb_b", 5, 0, 0, 0, Choice.ZIPF, "YCSB B: 95 % get, 5 % put"),
          new Mix("ycsb_c", 0, 0, 0, 0, Choice.ZIPF, "YCSB C: get"),
          new Mix("ycsb_f", 0, 0, 0, 50, Choice.ZIPF, "YCSB F: 50 % get, 50 % get and put"),
          new Mix("ycsb_d", 0, 5, 0, 0, Choice.LATEST, "YCSB D: 95 % get new, 5 % insert"),
          new Mix("ycsb_e", 0, 5, 95, 0, Choice.ZIPF, "YCSB E: 95 % scan, 5 % insert"));

  static final List<Mix> ALL = all();

  private static List<Mix> all() {
    List<Mix> all = new ArrayList<>();
    all.add(new Mix("mixed", 10, 0, 0, 0, Choice.UNIFORM, "90 % get, 10 % put"));
    all.addAll(YCSB);
    return all;
  }

  static List<String> ycsb() {
    return YCSB.stream().map(Mix::name).toList();
  }
}
