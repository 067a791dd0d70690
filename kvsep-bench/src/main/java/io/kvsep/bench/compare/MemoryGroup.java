package io.kvsep.bench.compare;

import io.kvsep.bench.Cleanup;
import io.kvsep.bench.FailedMeasurementException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A control group (cgroup v2, or v1 if that has the memory controller) that limits memory,
 * including file cache, and forbids swap. The children run in it one after another. Removed at the
 * end.
 */
final class MemoryGroup implements AutoCloseable {
  static final long BYTES_MIN = 64 << 20;
  private static final Path ROOT = Path.of("/sys/fs/cgroup");
  private static final String LEGACY_LIMIT = "memory.limit_in_bytes";

  private final Path directory;
  private final Cleanup removal;

  private MemoryGroup(Path directory) {
    this.directory = directory;
    this.removal = Cleanup.of(() -> removeAtEnd(directory));
  }

  /** Fails if the system does not allow one: figures without the limit would mean another thing. */
  static MemoryGroup of(long bytes) {
    MemoryGroup group = create(ROOT, own("0::"), bytes);
    if (group == null) {
      group = createLegacy(ROOT.resolve("memory"), own(":memory:"), bytes);
    }
    if (group == null) {
      throw new FailedMeasurementException(
          "no control group with a limit of memory can be made here (cgroup v2 or v1, and the right"
              + " to write below "
              + ROOT
              + ")");
    }
    return group;
  }

  /**
   * Creates a group in that of this process, or in the nearest enclosing one whose children can
   * have memory limits: a group that contains processes cannot have such children.
   */
  static @Nullable MemoryGroup create(Path root, Path own, long bytes) {
    Path outer = root.resolve(own);
    while (outer != null && outer.startsWith(root)) {
      Path made = outer.resolve("kvsep-bench-" + ProcessHandle.current().pid());
      try {
        Path controllers = outer.resolve("cgroup.subtree_control");
        if (!Files.readString(controllers).contains("memory")) {
          Files.writeString(controllers, "+memory");
        }
        Files.createDirectory(made);
        Files.writeString(made.resolve("memory.max"), Long.toString(bytes));
        Path swap = made.resolve("memory.swap.max");
        if (Files.exists(swap)) {
          Files.writeString(swap, "0");
        }
        return new MemoryGroup(made);
      } catch (IOException e) {
        remove(made);
        outer = outer.getParent();
      }
    }
    return null;
  }

  /** As {@link #create}, in the v1 hierarchy of the memory controller. */
  static @Nullable MemoryGroup createLegacy(Path root, Path own, long bytes) {
    Path outer = root.resolve(own);
    while (outer != null && outer.startsWith(root)) {
      Path made = outer.resolve("kvsep-bench-" + ProcessHandle.current().pid());
      try {
        if (Files.exists(outer.resolve(LEGACY_LIMIT))) {
          Files.createDirectories(made);
          Files.writeString(made.resolve(LEGACY_LIMIT), Long.toString(bytes));
          Files.writeString(made.resolve("memory.swappiness"), "0");
          return new MemoryGroup(made);
        }
      } catch (IOException e) {
        remove(made);
      }
      outer = outer.getParent();
    }
    return null;
  }

  /** The group of this process in the hierarchy with that mark, relative to its root. */
  private static Path own(String mark) {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
        int at = line.indexOf(mark + "/");
        if (at >= 0) {
          return Path.of(line.substring(at + mark.length() + 1));
        }
      }
    } catch (IOException e) {
      return Path.of("");
    }
    return Path.of("");
  }

  /** Prefix of a command that makes all of it run in the group, including its start. */
  List<String> prefix() {
    return List.of(
        "/bin/sh",
        "-c",
        "echo $$ > \"$0\" && exec \"$@\"",
        directory.resolve("cgroup.procs").toString());
  }

  @Override
  public void close() {
    removal.close();
  }

  private static void removeAtEnd(Path directory) {
    try {
      Files.deleteIfExists(directory);
    } catch (IOException e) {
      throw new UncheckedIOException("the control group stays: " + directory, e);
    }
  }

  private static void remove(Path directory) {
    try {
      Files.deleteIfExists(directory);
    } catch (IOException e) {
      System.err.println("the control group stays: " + directory);
    }
  }
}
