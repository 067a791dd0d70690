package io.kvsep.style;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.kvsep.style.Sources.SourceFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Holds the package graph of the core to the table below, edge by edge.
 *
 * <p>Equality rather than a layer rule: siblings of one layer must not see each other, and a new
 * edge that breaks no rule is still a decision that a review should see. Names are relative to
 * {@code io.kvsep}; the root package, which a pattern such as {@code io.kvsep.(**)} silently skips,
 * takes part under the name {@code root}.
 */
final class PackageGraphTest {
  private static final String BASE = "io.kvsep";
  private static final String ROOT = "root";

  private static final Pattern PACKAGE = Pattern.compile("package (io\\.kvsep[a-z.]*);");
  private static final Pattern IMPORT =
      Pattern.compile("import (?:static )?(io\\.kvsep(?:\\.[a-z]+)*)\\.([A-Z]\\w*).*;");

  /**
   * The exception: records of the API that the packages below make, so that each figure has one
   * name. They use nothing of the engine, and using them is no edge.
   */
  private static final Set<String> RECORDS =
      Set.of(
          "EntryInfo",
          "ReclaimReport",
          "RepairReport",
          "SegmentStats",
          "StoreStats",
          "VerifyReport");

  /** Who may see whom. To allow an edge, add it here and to the diagram in the documents. */
  private static final Map<String, Set<String>> EDGES =
      Map.ofEntries(
          entry(
              ROOT,
              Set.of(
                  "error",
                  "internal.backup",
                  "internal.base",
                  "internal.concurrent",
                  "internal.config",
                  "internal.engine",
                  "internal.feed",
                  "internal.io",
                  "internal.iterator",
                  "internal.load",
                  "internal.memory",
                  "internal.read",
                  "internal.repair",
                  "internal.txn",
                  "internal.view",
                  "internal.write")),
          entry(
              "internal.repair",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.engine",
                  "internal.io",
                  "internal.iterator",
                  "internal.memory",
                  "internal.memtable",
                  "internal.sstable",
                  "internal.version",
                  "internal.vlog",
                  "internal.write")),
          entry(
              "internal.engine",
              Set.of(
                  "error",
                  "internal.background",
                  "internal.backup",
                  "internal.base",
                  "internal.concurrent",
                  "internal.config",
                  "internal.feed",
                  "internal.io",
                  "internal.load",
                  "internal.memory",
                  "internal.memtable",
                  "internal.read",
                  "internal.reclaim",
                  "internal.sstable",
                  "internal.txn",
                  "internal.verify",
                  "internal.version",
                  "internal.view",
                  "internal.vlog",
                  "internal.write")),
          entry(
              "internal.backup",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.config",
                  "internal.io",
                  "internal.iterator",
                  "internal.load",
                  "internal.memory",
                  "internal.read",
                  "internal.version",
                  "internal.write")),
          entry(
              "internal.feed",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.concurrent",
                  "internal.io",
                  "internal.memory",
                  "internal.read",
                  "internal.version",
                  "internal.view",
                  "internal.vlog",
                  "internal.write")),
          entry(
              "internal.load",
              Set.of(
                  "error",
                  "internal.background",
                  "internal.base",
                  "internal.compaction",
                  "internal.concurrent",
                  "internal.config",
                  "internal.io",
                  "internal.iterator",
                  "internal.memory",
                  "internal.read",
                  "internal.sstable",
                  "internal.version",
                  "internal.view",
                  "internal.vlog",
                  "internal.write")),
          entry(
              "internal.txn",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.concurrent",
                  "internal.iterator",
                  "internal.memory",
                  "internal.memtable",
                  "internal.read",
                  "internal.sstable",
                  "internal.version",
                  "internal.view",
                  "internal.vlog",
                  "internal.write")),
          entry(
              "internal.write",
              Set.of(
                  "error",
                  "internal.background",
                  "internal.base",
                  "internal.concurrent",
                  "internal.config",
                  "internal.io",
                  "internal.iterator",
                  "internal.jfr",
                  "internal.memory",
                  "internal.memtable",
                  "internal.read",
                  "internal.reclaim",
                  "internal.version",
                  "internal.view",
                  "internal.vlog")),
          entry(
              "internal.reclaim",
              Set.of(
                  "error",
                  "internal.background",
                  "internal.base",
                  "internal.compaction",
                  "internal.concurrent",
                  "internal.config",
                  "internal.io",
                  "internal.iterator",
                  "internal.jfr",
                  "internal.memory",
                  "internal.sstable",
                  "internal.version",
                  "internal.view",
                  "internal.vlog")),
          entry(
              "internal.verify",
              Set.of(
                  "error",
                  "internal.background",
                  "internal.base",
                  "internal.concurrent",
                  "internal.config",
                  "internal.io",
                  "internal.memory",
                  "internal.sstable",
                  "internal.version",
                  "internal.vlog")),
          entry(
              "internal.background",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.compaction",
                  "internal.concurrent",
                  "internal.config",
                  "internal.io",
                  "internal.iterator",
                  "internal.jfr",
                  "internal.memory",
                  "internal.memtable",
                  "internal.sstable",
                  "internal.version",
                  "internal.view",
                  "internal.vlog")),
          entry(
              "internal.read",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.concurrent",
                  "internal.config",
                  "internal.iterator",
                  "internal.memory",
                  "internal.memtable",
                  "internal.sstable",
                  "internal.version",
                  "internal.view",
                  "internal.vlog")),
          entry(
              "internal.compaction",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.config",
                  "internal.io",
                  "internal.iterator",
                  "internal.memory",
                  "internal.sstable",
                  "internal.version")),
          entry(
              "internal.view",
              Set.of(
                  "error",
                  "internal.concurrent",
                  "internal.io",
                  "internal.memory",
                  "internal.memtable",
                  "internal.version")),
          entry(
              "internal.version",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.concurrent",
                  "internal.io",
                  "internal.iterator",
                  "internal.memory",
                  "internal.sstable")),
          entry("internal.config", Set.of("internal.concurrent", "internal.io", "internal.memory")),
          entry(
              "internal.memtable", Set.of("internal.base", "internal.iterator", "internal.memory")),
          entry(
              "internal.sstable",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.concurrent",
                  "internal.io",
                  "internal.iterator",
                  "internal.memory")),
          entry(
              "internal.vlog",
              Set.of(
                  "error",
                  "internal.base",
                  "internal.concurrent",
                  "internal.io",
                  "internal.iterator",
                  "internal.jfr",
                  "internal.memory")),
          entry("internal.io", Set.of("error", "internal.base", "internal.memory")),
          entry(
              "internal.iterator",
              Set.of("internal.base", "internal.concurrent", "internal.memory")),
          entry("internal.memory", Set.of("error", "internal.concurrent")),
          entry("internal.concurrent", Set.of("internal.base")),
          entry("error", Set.of()),
          entry("internal.base", Set.of()),
          entry("internal.jfr", Set.of()));

  /** The graph of the code, read once. */
  private static SortedMap<String, SortedSet<String>> core = new TreeMap<>();

  /** Top to bottom. An edge leads from one line to a line below it, never along a line. */
  private static final List<Set<String>> LAYERS =
      List.of(
          Set.of(ROOT),
          Set.of("internal.repair"),
          Set.of("internal.engine"),
          Set.of("internal.backup"),
          Set.of("internal.feed", "internal.load", "internal.txn"),
          Set.of("internal.write"),
          Set.of("internal.reclaim", "internal.verify"),
          Set.of("internal.background", "internal.read"),
          Set.of("internal.compaction", "internal.view"),
          Set.of("internal.version"),
          Set.of("internal.config", "internal.memtable", "internal.sstable", "internal.vlog"),
          Set.of("internal.io", "internal.iterator"),
          Set.of("internal.memory"),
          Set.of("internal.concurrent"),
          Set.of("error", "internal.base", "internal.jfr"));

  @Test
  void edgesAreExactlyTheTable() {
    SortedMap<String, SortedSet<String>> actual = graphOfCore();
    List<String> differences = differences(EDGES, actual);

    assertTrue(
        differences.isEmpty(),
        () -> String.join("\n", differences) + "\n\nThe table that would match:\n" + table(actual));
  }

  @Test
  void edgesOfTheTablePointDownwards() {
    assertEquals(List.of(), edgesNotPointingDown(EDGES));
  }

  @Test
  void packagesAreFreeOfCyclesIncludingTheRoot() {
    assertEquals(List.of(), cycle(graphOfCore()));
  }

  @Test
  void recordsUseNothingOfTheEngine() {
    SortedSet<String> used = new TreeSet<>();
    for (JavaClass type : new ClassFileImporter().importPackages(BASE)) {
      if (isRecord(type)) {
        for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
          JavaClass target = dependency.getTargetClass().getBaseComponentType();
          if (target.getPackageName().startsWith(BASE) && !isRecord(target)) {
            used.add(type.getName() + " -> " + target.getName());
          }
        }
      }
    }
    assertEquals(new TreeSet<>(), used);
  }

  @Test
  void canaryNewAndMissingEdgesAreNamed() {
    Map<String, Set<String>> table = Map.of("a", Set.of("b"), "b", Set.of());
    Map<String, Set<String>> actual = Map.of("a", Set.of("c"), "c", Set.of());

    assertEquals(
        List.of(
            "missing edge: a -> b (remove it from the table)",
            "new edge: a -> c (draw it in the table or remove it from the code)",
            "missing package: b (remove it from the table)",
            "new package: c (add it to the table)"),
        differences(table, actual));
  }

  @Test
  void canaryCycleThroughTheRootIsFound() {
    Map<String, Set<String>> graph =
        Map.of(
            ROOT,
            Set.of("internal.engine"),
            "internal.engine",
            Set.of("error", ROOT),
            "error",
            Set.of());

    assertEquals(List.of("internal.engine", ROOT, "internal.engine"), cycle(graph));
  }

  @Test
  void canaryUpwardAndSiblingEdgesAreFound() {
    assertEquals(
        List.of("internal.memory -> internal.io", "internal.memory -> root"),
        edgesNotPointingDown(Map.of("internal.memory", Set.of(ROOT, "internal.io", "error"))));
    assertThrows(
        IllegalArgumentException.class, () -> edgesNotPointingDown(Map.of("x", Set.of("error"))));
  }

  @Test
  void canaryImportedGraphHasEdgesToTheErrorPackage() {
    assertTrue(graphOfCore().values().stream().anyMatch(targets -> targets.contains("error")));
  }

  private static SortedMap<String, SortedSet<String>> graphOfCore() {
    if (core.isEmpty()) {
      core = readGraph();
    }
    return core;
  }

  private static SortedMap<String, SortedSet<String>> readGraph() {
    SortedMap<String, SortedSet<String>> graph = new TreeMap<>();
    for (JavaClass type :
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages(BASE)) {
      String source = relative(type.getPackageName());
      SortedSet<String> targets = graph.computeIfAbsent(source, name -> new TreeSet<>());
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        JavaClass target = dependency.getTargetClass().getBaseComponentType();
        String packageName = target.getPackageName();
        boolean isOurs = packageName.equals(BASE) || packageName.startsWith(BASE + ".");
        if (isOurs && !relative(packageName).equals(source) && !isRecord(target)) {
          targets.add(relative(packageName));
        }
      }
    }
    readImports(graph);
    return graph;
  }

  /** Class files do not show imports of constants, of types that are caught, and of locals. */
  private static void readImports(SortedMap<String, SortedSet<String>> graph) {
    for (SourceFile file : Sources.all()) {
      if (!file.path().startsWith("kvsep-core/src/main/")) {
        continue;
      }
      String source = "";
      for (String line : file.text().lines().toList()) {
        Matcher declared = PACKAGE.matcher(line);
        Matcher imported = IMPORT.matcher(line);
        if (declared.matches()) {
          source = relative(declared.group(1));
        } else if (imported.matches()
            && !relative(imported.group(1)).equals(source)
            && !(imported.group(1).equals(BASE) && RECORDS.contains(imported.group(2)))) {
          Objects.requireNonNull(graph.get(source)).add(relative(imported.group(1)));
        }
      }
    }
  }

  /** Whether it is one of {@link #RECORDS} or within one. */
  private static boolean isRecord(JavaClass type) {
    String name = type.getName();
    return type.getPackageName().equals(BASE)
        && RECORDS.contains(name.substring(BASE.length() + 1).replaceAll("\\$.*", ""));
  }

  private static String relative(String packageName) {
    return packageName.equals(BASE) ? ROOT : packageName.substring(BASE.length() + 1);
  }

  private static List<String> differences(
      Map<String, ? extends Set<String>> table, Map<String, ? extends Set<String>> actual) {
    List<String> differences = new ArrayList<>();
    SortedSet<String> names = new TreeSet<>(table.keySet());
    names.addAll(actual.keySet());
    for (String name : names) {
      if (!actual.containsKey(name)) {
        differences.add("missing package: " + name + " (remove it from the table)");
        continue;
      }
      if (!table.containsKey(name)) {
        differences.add("new package: " + name + " (add it to the table)");
      }
      Set<String> expected = table.containsKey(name) ? table.get(name) : Set.of();
      SortedSet<String> targets = new TreeSet<>(expected);
      targets.addAll(actual.get(name));
      for (String target : targets) {
        if (!actual.get(name).contains(target)) {
          differences.add(
              "missing edge: " + name + " -> " + target + " (remove it from the table)");
        } else if (!expected.contains(target)) {
          differences.add(
              "new edge: "
                  + name
                  + " -> "
                  + target
                  + " (draw it in the table or remove it from the code)");
        }
      }
    }
    return differences;
  }

  /** Returns the entries of {@link #EDGES} as source text, to be pasted after a decision. */
  private static String table(SortedMap<String, SortedSet<String>> graph) {
    List<String> entries = new ArrayList<>();
    graph.forEach(
        (source, targets) -> {
          String names = targets.isEmpty() ? "" : '"' + String.join("\", \"", targets) + '"';
          entries.add("entry(\"" + source + "\", Set.of(" + names + "))");
        });
    return String.join(",\n", entries);
  }

  private static List<String> edgesNotPointingDown(Map<String, Set<String>> edges) {
    SortedSet<String> offending = new TreeSet<>();
    edges.forEach(
        (source, targets) -> {
          for (String target : targets) {
            if (layer(target) <= layer(source)) {
              offending.add(source + " -> " + target);
            }
          }
        });
    return List.copyOf(offending);
  }

  private static int layer(String name) {
    for (int i = 0; i < LAYERS.size(); i++) {
      if (LAYERS.get(i).contains(name)) {
        return i;
      }
    }
    throw new IllegalArgumentException("package without a layer: " + name);
  }

  /** Returns the packages along one cycle, the first repeated at the end, or an empty list. */
  private static List<String> cycle(Map<String, ? extends Set<String>> graph) {
    Set<String> finished = new TreeSet<>();
    for (String start : new TreeSet<>(graph.keySet())) {
      List<String> found = cycle(graph, start, new ArrayList<>(), finished);
      if (!found.isEmpty()) {
        return found;
      }
    }
    return List.of();
  }

  private static List<String> cycle(
      Map<String, ? extends Set<String>> graph,
      String current,
      List<String> path,
      Set<String> finished) {
    int first = path.indexOf(current);
    path.add(current);
    if (first >= 0) {
      return List.copyOf(path.subList(first, path.size()));
    }
    if (finished.contains(current) || !graph.containsKey(current)) {
      path.remove(path.size() - 1);
      return List.of();
    }
    for (String target : new TreeSet<>(graph.get(current))) {
      List<String> found = cycle(graph, target, path, finished);
      if (!found.isEmpty()) {
        return found;
      }
    }
    finished.add(current);
    path.remove(path.size() - 1);
    return List.of();
  }
}
