package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is read of the files in which Linux tells of memory. */
final class SystemMemoryTest {
  private static final long MIB = 1 << 20;

  @TempDir private Path directory;
  private Path proc;
  private Path groups;
  private SystemMemory memory;

  @BeforeEach
  void machine() throws IOException {
    proc = directory.resolve("proc");
    groups = directory.resolve("cgroup");
    memory = new SystemMemory(proc, groups);
    write(
        proc.resolve("meminfo"), "MemTotal:  1024000 kB\nMemFree: 1 kB\nMemAvailable: 512000 kB\n");
  }

  @Test
  void aMachineWithoutGroupsHasItsOwnMemory() {
    assertEquals(1024000L << 10, memory.limitBytes());
    assertEquals(512000L << 10, memory.fileBytes());
  }

  @Test
  void theLimitOfAGroupOfTheFirstVersionCounts() throws IOException {
    write(proc.resolve("self/cgroup"), "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n");
    firstVersion("memory/a/b", 256 * MIB, 200 * MIB, 80 * MIB, 20 * MIB);
    assertEquals(256 * MIB, memory.limitBytes());
    assertEquals(156 * MIB, memory.fileBytes());
  }

  @Test
  void theLimitOfAGroupOfTheSecondVersionCounts() throws IOException {
    write(proc.resolve("self/cgroup"), "0::/a/b\n");
    secondVersion("a/b", String.valueOf(256 * MIB), 200 * MIB, 80 * MIB, 20 * MIB);
    assertEquals(256 * MIB, memory.limitBytes());
    assertEquals(156 * MIB, memory.fileBytes());
  }

  @Test
  void theSmallestLimitOfAGroupAndItsParentsCounts() throws IOException {
    write(proc.resolve("self/cgroup"), "0::/a/b\n");
    secondVersion("a", String.valueOf(128 * MIB), 100 * MIB, 10 * MIB, 10 * MIB);
    secondVersion("a/b", "max", 50 * MIB, 10 * MIB, 10 * MIB);
    assertEquals(128 * MIB, memory.limitBytes());
    assertEquals(48 * MIB, memory.fileBytes());
  }

  @Test
  void withinAContainerTheGroupIsTheRootOfTheMount() throws IOException {
    write(proc.resolve("self/cgroup"), "4:memory:/docker/0123\n");
    firstVersion("memory", 64 * MIB, 60 * MIB, 1 * MIB, 3 * MIB);
    assertEquals(64 * MIB, memory.limitBytes());
    assertEquals(8 * MIB, memory.fileBytes());
  }

  @Test
  void aPathThatLeadsOutOfTheMountIsTakenFromItsRoot() throws IOException {
    write(proc.resolve("self/cgroup"), "0::/../../a\n");
    secondVersion("", String.valueOf(64 * MIB), 60 * MIB, 1 * MIB, 3 * MIB);
    assertEquals(64 * MIB, memory.limitBytes());
  }

  /** As where the JVM's locale has no such characters. */
  @ParameterizedTest
  @ValueSource(strings = {"a/b", "/a\0b", ""})
  void aPathThatIsNoneIsTakenForTheRoot(String path) throws IOException {
    write(proc.resolve("self/cgroup"), "0::" + path + "\n");
    secondVersion("", String.valueOf(64 * MIB), 60 * MIB, 1 * MIB, 3 * MIB);
    assertEquals(64 * MIB, memory.limitBytes());
  }

  @Test
  void groupsWithoutALimitCountForNothing() throws IOException {
    write(proc.resolve("self/cgroup"), "4:memory:/a\n");
    firstVersion("memory/a", 0x7fff_ffff_ffff_f000L, 60 * MIB, 1 * MIB, 3 * MIB);
    assertEquals(1024000L << 10, memory.limitBytes());
    assertEquals(512000L << 10, memory.fileBytes());
  }

  @Test
  void filesThatCannotBeUnderstoodLimitNothing() throws IOException {
    write(proc.resolve("meminfo"), "MemTotal: lots\n");
    write(proc.resolve("self/cgroup"), "nothing\n4:memory\n0::/a\n");
    write(groups.resolve("a/memory.max"), "");
    write(groups.resolve("a/memory.stat"), "file\n");
    assertTrue(memory.limitBytes() > 64 * MIB);
    assertTrue(memory.fileBytes() > 64 * MIB);
    assertEquals(0, memory.majorFaults());
  }

  @Test
  void majorFaultsAreReadBehindTheNameOfTheProgram() throws IOException {
    write(proc.resolve("self/stat"), "7 (a b) c) S 1 7 7 0 -1 4194560 1171 22 345 1 3 4\n");
    assertEquals(345, memory.majorFaults());
  }

  private void firstVersion(String group, long limit, long used, long active, long inactive)
      throws IOException {
    Path at = groups.resolve(group);
    write(at.resolve("memory.limit_in_bytes"), limit + "\n");
    write(at.resolve("memory.usage_in_bytes"), used + "\n");
    write(
        at.resolve("memory.stat"),
        "cache 1\ntotal_active_file " + active + "\ntotal_inactive_file " + inactive + "\n");
  }

  private void secondVersion(String group, String limit, long used, long active, long inactive)
      throws IOException {
    Path at = groups.resolve(group);
    write(at.resolve("memory.max"), limit + "\n");
    write(at.resolve("memory.current"), used + "\n");
    write(
        at.resolve("memory.stat"),
        "anon 1\nactive_file " + active + "\ninactive_file " + inactive + "\n");
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }
}
