package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On plain files in place of those of the system. */
final class MemoryGroupTest {
  private static final Path OWN = Path.of("user/session");
  private static final String MADE = "kvsep-bench-" + ProcessHandle.current().pid();

  @TempDir Path root;

  @Test
  void nearestGroupThatAllowsItIsUsed() throws IOException {
    Files.createDirectories(root.resolve(OWN));
    Files.writeString(root.resolve("user/cgroup.subtree_control"), "cpu memory");

    MemoryGroup group = MemoryGroup.create(root, OWN, 1_200 << 20);

    assertNotNull(group);
    Path made = root.resolve("user").resolve(MADE);
    assertEquals("1258291200", Files.readString(made.resolve("memory.max")));
    assertTrue(group.prefix().contains(made.resolve("cgroup.procs").toString()));
  }

  @Test
  void olderSystemsHaveAHierarchyForMemory() throws IOException {
    Files.createDirectories(root.resolve(OWN));
    Files.writeString(root.resolve("memory.limit_in_bytes"), "9223372036854771712");

    MemoryGroup group = MemoryGroup.createLegacy(root, OWN, 1_200 << 20);

    assertNotNull(group);
    Path made = root.resolve(MADE);
    assertEquals("1258291200", Files.readString(made.resolve("memory.limit_in_bytes")));
    assertEquals("0", Files.readString(made.resolve("memory.swappiness")));
    assertTrue(group.prefix().contains(made.resolve("cgroup.procs").toString()));
  }

  @Test
  void nothingIsLeftWhereItIsNotAllowed() throws IOException {
    Files.createDirectories(root.resolve(OWN));
    assertNull(MemoryGroup.create(root, OWN, 1_200 << 20));
    assertNull(MemoryGroup.createLegacy(root, OWN, 1_200 << 20));
    try (var files = Files.walk(root)) {
      assertEquals(0, files.filter(path -> path.endsWith(MADE)).count());
    }
  }
}
