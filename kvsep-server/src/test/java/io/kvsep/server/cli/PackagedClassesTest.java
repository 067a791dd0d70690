package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * That {@code kvsep.jar} lacks no class of its libraries to which kvsep or a service leads: by a
 * name in a class file, of a class, in a descriptor, a signature or a text.
 */
@Tag("packaged")
final class PackagedClassesTest {
  private static final String SERVICES = "META-INF/services/";
  private static final Pattern VERSION = Pattern.compile("META-INF/versions/\\d+/");
  private static final Pattern IN_DESCRIPTOR = Pattern.compile("L([\\w/$]+)[;<]");

  /**
   * Annotations, libraries that users bring or that Armeria looks for, and functions on kinds of
   * numbers that nothing converts.
   */
  private static final Pattern LEFT_OUT =
      Pattern.compile(
          "(javax/annotation|org/iq80|org/rocksdb|reactor)/.*"
              + "|.*/shaded/fastutil/(booleans|doubles|floats|shorts)/.*");

  /** The files of each class of the jar, by its name with slashes; newer JDKs have their own. */
  private final Map<String, List<JarEntry>> packaged = new HashMap<>();

  private final Set<String> inLibraries = new HashSet<>();

  @Test
  void itHasEveryClassToWhichItsProgramLeads() throws IOException {
    try (JarFile jar = new JarFile(System.getProperty("kvsep.jar"))) {
      jar.stream()
          .filter(entry -> entry.getName().endsWith(".class"))
          .forEach(
              entry -> packaged.computeIfAbsent(name(entry), name -> new ArrayList<>()).add(entry));
      for (String path : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
        if (path.endsWith(".jar")) {
          try (JarFile library = new JarFile(path)) {
            library.stream()
                .filter(entry -> entry.getName().endsWith(".class"))
                .forEach(entry -> inLibraries.add(name(entry)));
          }
        }
      }
      Set<String> services = services(jar);
      Set<String> missing = new TreeSet<>(services);
      missing.retainAll(inLibraries);
      missing.removeAll(packaged.keySet());
      Deque<String> reached = new ArrayDeque<>(services);
      packaged.keySet().stream().filter(name -> name.startsWith("io/kvsep/")).forEach(reached::add);
      missing.addAll(missing(jar, reached));
      assertEquals(Set.of(), missing);
    }
  }

  private static String name(JarEntry entry) {
    String name = VERSION.matcher(entry.getName()).replaceFirst("");
    return name.substring(0, name.length() - ".class".length());
  }

  /** The classes that the jar offers as services. */
  private static Set<String> services(JarFile jar) throws IOException {
    Set<String> names = new TreeSet<>();
    for (JarEntry entry : jar.stream().toList()) {
      if (entry.getName().startsWith(SERVICES) && !entry.isDirectory()) {
        new String(jar.getInputStream(entry).readAllBytes(), UTF_8)
            .lines()
            .map(line -> line.replaceFirst("#.*", "").strip().replace('.', '/'))
            .filter(line -> !line.isEmpty())
            .forEach(names::add);
      }
    }
    return names;
  }

  /** Follows all names from these classes, and returns who names what the jar lacks. */
  private Set<String> missing(JarFile jar, Deque<String> reached) throws IOException {
    Set<String> missing = new TreeSet<>();
    Set<String> seen = new HashSet<>(reached);
    while (!reached.isEmpty()) {
      String name = reached.remove();
      for (JarEntry entry : packaged.getOrDefault(name, List.of())) {
        for (String other : named(jar, entry)) {
          if (seen.add(other)) {
            reached.add(other);
            if (!packaged.containsKey(other) && !LEFT_OUT.matcher(other).matches()) {
              missing.add(name + " -> " + other);
            }
          }
        }
      }
    }
    assertTrue(seen.size() > 1000, () -> seen.size() + " classes");
    return missing;
  }

  private Set<String> named(JarFile jar, JarEntry entry) throws IOException {
    Set<String> names = new HashSet<>();
    try (DataInputStream file =
        new DataInputStream(new BufferedInputStream(jar.getInputStream(entry)))) {
      // Magic number and version.
      file.skipNBytes(8);
      int count = file.readUnsignedShort();
      for (int i = 1; i < count; i++) {
        int tag = file.readUnsignedByte();
        switch (tag) {
          case 1 -> addNamed(file.readUTF(), names);
          case 3, 4, 9, 10, 11, 12, 17, 18 -> file.skipNBytes(4);
          case 5, 6 -> {
            file.skipNBytes(8);
            i++;
          }
          case 7, 8, 16, 19, 20 -> file.skipNBytes(2);
          case 15 -> file.skipNBytes(3);
          default -> throw new IOException(entry + ": constant of kind " + tag);
        }
      }
    }
    return names;
  }

  private void addNamed(String text, Set<String> names) {
    String whole = text.replace('.', '/');
    if (isClass(whole)) {
      names.add(whole);
    }
    Matcher descriptor = IN_DESCRIPTOR.matcher(text);
    while (descriptor.find()) {
      if (isClass(descriptor.group(1))) {
        names.add(descriptor.group(1));
      }
    }
  }

  private boolean isClass(String name) {
    return packaged.containsKey(name) || inLibraries.contains(name);
  }
}
