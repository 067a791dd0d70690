package io.kvsep.style;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** The BOM, which inherits nothing, has the version and the artifacts of the other modules. */
final class PublishedModulesTest {
  private final Path project = Sources.projectFolder();

  @Test
  void theBomListsEachPublishedJar() throws Exception {
    Set<String> published = new TreeSet<>();
    try (Stream<Path> folders = Files.walk(project, 2)) {
      for (Path folder : folders.toList()) {
        if (Files.isRegularFile(folder.resolve("pom.xml"))) {
          Element pom = pom(folder);
          boolean isJar = text(pom, "packaging").isEmpty();
          if (isJar
              && !Files.readString(folder.resolve("pom.xml"))
                  .contains("<maven.deploy.skip>true<")) {
            published.add(text(pom, "artifactId"));
            assertFalse(text(pom, "description").isEmpty(), folder::toString);
          }
        }
      }
    }

    Set<String> listed = new TreeSet<>();
    for (Element dependency : all(pom(project.resolve("kvsep-bom")), "dependency")) {
      listed.add(text(dependency, "artifactId"));
      assertEquals("${project.version}", text(dependency, "version"));
    }
    assertEquals(published, listed);
  }

  @Test
  void theBomHasTheVersionsOfTheProject() throws Exception {
    Element bom = pom(project.resolve("kvsep-bom"));
    Element parent = pom(project);

    assertEquals(text(parent, "version"), text(bom, "version"));
    for (String plugin : List.of("gpg.plugin.version", "central.plugin.version")) {
      assertEquals(
          all(parent, plugin).get(0).getTextContent(), all(bom, plugin).get(0).getTextContent());
    }
  }

  private static Element pom(Path folder) throws Exception {
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(folder.resolve("pom.xml").toFile())
        .getDocumentElement();
  }

  /** Of a child, not of what is deeper. */
  private static String text(Element element, String child) {
    return all(element, child).stream()
        .filter(found -> found.getParentNode() == element)
        .map(Element::getTextContent)
        .findFirst()
        .orElse("");
  }

  private static List<Element> all(Element element, String name) {
    NodeList found = element.getElementsByTagName(name);
    return IntStream.range(0, found.getLength()).mapToObj(i -> (Element) found.item(i)).toList();
  }
}
