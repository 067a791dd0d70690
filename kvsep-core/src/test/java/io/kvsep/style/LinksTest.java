package io.kvsep.style;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Links between the project's Markdown pages, and to its files, lead somewhere. */
final class LinksTest {
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern ADDRESS = Pattern.compile("[a-z]+:.*");
  private static final Set<String> FOREIGN = Set.of("target", ".git", "kvsep-data");

  private final Path project = Sources.projectFolder();

  @Test
  void linksLeadSomewhere() throws IOException {
    Map<Path, String> pages = pages();
    List<String> findings = new ArrayList<>();
    pages.forEach((page, text) -> findings.addAll(broken(page, text, pages)));

    assertTrue(pages.size() > 40, () -> pages.keySet().toString());
    assertTrue(findings.isEmpty(), () -> "\n" + String.join("\n", findings));
  }

  @Test
  void canaryBrokenLinksAreFound() {
    Path page = project.resolve("docs/page.md");
    Map<Path, String> pages = Map.of(page, "# A `b`: c\n## Twice\n## Twice\n```\n# code\n```\n");
    String text =
        """
        [x](page.md#a-b-c) [x](#twice-1) [x](../pom.xml) [x](https://x) ![x](none.svg)
        [x](#code) [x](page.md#gone)
        ```
        [x](code.md)
        ```
        """;

    assertEquals(
        List.of(
            "docs/page.md: none.svg is no file",
            "docs/page.md: #code is no heading",
            "docs/page.md: page.md#gone is no heading"),
        broken(page, text, pages));
  }

  private List<String> broken(Path page, String text, Map<Path, String> pages) {
    List<String> findings = new ArrayList<>();
    Matcher link = LINK.matcher(withoutCode(text));
    while (link.find()) {
      String target = link.group(1);
      if (!ADDRESS.matcher(target).matches()) {
        String[] parts = target.split("#", 2);
        Path file =
            parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).toAbsolutePath().normalize();
        String found = project.relativize(page).toString().replace('\\', '/') + ": " + target;
        if (!pages.containsKey(file) && !Files.exists(file)) {
          findings.add(found + " is no file");
        } else if (parts.length > 1 && !headings(pages.getOrDefault(file, "")).contains(parts[1])) {
          findings.add(found + " is no heading");
        }
      }
    }
    return findings;
  }

  /** The anchors that GitHub gives to a page's headings. */
  private static Set<String> headings(String text) {
    Set<String> anchors = new HashSet<>();
    Map<String, Integer> counts = new HashMap<>();
    for (String line : withoutCode(text).split("\n", -1)) {
      if (line.matches("#{1,6} .*")) {
        String anchor =
            line.replaceFirst("#+ ", "")
                .replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1")
                .strip()
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
        int earlier = counts.merge(anchor, 1, Integer::sum) - 1;
        anchors.add(earlier == 0 ? anchor : anchor + "-" + earlier);
      }
    }
    return anchors;
  }

  private static String withoutCode(String text) {
    return text.replaceAll("(?ms)^```.*?^```$", "");
  }

  private Map<Path, String> pages() throws IOException {
    Map<Path, String> pages = new HashMap<>();
    Files.walkFileTree(
        project,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            return FOREIGN.contains(folder.getFileName().toString())
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            if (file.toString().endsWith(".md")) {
              pages.put(file, Files.readString(file, UTF_8));
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return pages;
  }
}
