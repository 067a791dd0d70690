package io.kvsep.bench.compare;

import java.util.ArrayList;
import java.util.List;

/** The names of the workloads, in their order. */
final class Workload {
  static final List<String> ALL = all();

  /** Runs alone, in a process of its own, on the store that the others have left. */
  static final String COLD = "cold";

  /** Without those that are long, which run only on request. */
  static final List<String> USUAL =
      ALL.stream().filter(name -> !name.equals("steady") && !name.startsWith("ycsb_")).toList();

  private static List<String> all() {
    List<String> all =
        new ArrayList<>(
            List.of(
                "load",
                "open",
                "get",
                "get_reused",
                "get1",
                "get_view",
                "miss",
                "iterate",
                "keys",
                "single",
                "single_sync",
                "overwrite",
                "steady"));
    Mix.ALL.forEach(mix -> all.add(mix.name()));
    all.add(COLD);
    return all;
  }

  private Workload() {}

  /** Another one for each name, with or without the suffix of a rest. */
  static int number(String name) {
    for (Rest rest : Rest.values()) {
      int index = ALL.indexOf(name.substring(0, name.length() - rest.suffix.length()));
      if (name.endsWith(rest.suffix) && index >= 0) {
        return ALL.size() * rest.ordinal() + index;
      }
    }
    throw new IllegalArgumentException("no workload: " + name);
  }
}
