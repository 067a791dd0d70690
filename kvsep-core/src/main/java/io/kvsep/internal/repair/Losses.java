package io.kvsep.internal.repair;

import io.kvsep.RepairReport;
import io.kvsep.error.CorruptionException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Counts all losses and uncertain keys, and keeps the first ones. */
final class Losses {
  static final int KEPT_MAX = 10_000;

  final List<RepairReport.Loss> losses = new ArrayList<>();
  final List<RepairReport.UncertainKey> uncertain = new ArrayList<>();
  final List<String> notes = new ArrayList<>();
  long lossCount;
  long uncertainCount;

  void add(RepairReport.Loss loss) {
    lossCount++;
    if (losses.size() < KEPT_MAX) {
      losses.add(loss);
    }
  }

  void add(String file, long from, long to, String what) {
    add(new RepairReport.Loss(file, from, to, what, "", ""));
  }

  void add(CorruptionException what, long to) {
    add(what.file(), what.offset(), Math.max(to, what.offset() + 1), describe(what));
  }

  void addUncertain(String keyspace, byte[] key, boolean restored) {
    uncertainCount++;
    if (uncertain.size() < KEPT_MAX) {
      uncertain.add(
          new RepairReport.UncertainKey(keyspace, HexFormat.of().formatHex(key), restored));
    }
  }

  static String describe(CorruptionException what) {
    return "expected " + what.expected() + ", found " + what.found();
  }
}
