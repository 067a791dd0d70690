package io.kvsep.bench.compare;

import java.util.List;

/** The names of the workloads, in their order. */
final class Workload {
  static final List<String> ALL =
      List.of(
          "load",
          "open",
          "get",
          "get1",
          "get_view",
          "miss",
          "iterate",
          "keys",
          "single",
          "single_sync",
          "overwrite",
          "mixed");

  private Workload() {}
}
