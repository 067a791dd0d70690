package io.kvsep.internal.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory statistics of the system: how much this process may use, and how much of it can cache
 * files. On Linux from /proc and the control groups (version 1 and 2); elsewhere only the JVM's
 * figure for total memory is known.
 *
 * <p>Thread safe. Each call reads a few small files, about 100 microseconds in total.
 */
public final class SystemMemory implements ColdReadPolicy.Memory {
  private static final String NO_LIMIT = "max";

  private final Path proc;
  private final Path groups;

  public SystemMemory() {
    this(Path.of("/proc"), Path.of("/sys/fs/cgroup"));
  }

  SystemMemory(Path proc, Path groups) {
    this.proc = proc;
    this.groups = groups;
  }

  /**
   * Memory of the machine or of the smallest enclosing control group; {@link Long#MAX_VALUE} if
   * unknown.
   */
  public long limitBytes() {
    long limit = field(proc.resolve("meminfo"), "MemTotal:", 1024);
    for (Group group : groups()) {
      limit = Math.min(limit, group.limitBytes());
    }
    return Math.min(limit, PhysicalMemory.bytes());
  }

  @Override
  public long fileBytes() {
    long available = field(proc.resolve("meminfo"), "MemAvailable:", 1024);
    for (Group group : groups()) {
      available = Math.min(available, group.fileBytes());
    }
    return available == Long.MAX_VALUE ? PhysicalMemory.bytes() / 2 : available;
  }

  @Override
  public long majorFaults() {
    try {
      String stat = Files.readString(proc.resolve("self/stat"));
      // The program name, in parentheses, may contain anything.
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      return Long.parseLong(fields[9]);
    } catch (IOException | RuntimeException e) {
      return 0;
    }
  }

  /**
   * Returns the control groups of this process and their parents, of the version that accounts
   * memory.
   */
  private List<Group> groups() {
    List<Group> found = new ArrayList<>();
    for (String line : lines(proc.resolve("self/cgroup"))) {
      String[] parts = line.split(":", 3);
      if (parts.length == 3 && parts[1].isEmpty()) {
        for (Path directory : upwards(groups, parts[2])) {
          found.add(Group.ofSecondVersion(directory));
        }
      } else if (parts.length == 3 && List.of(parts[1].split(",", -1)).contains("memory")) {
        for (Path directory : upwards(groups.resolve("memory"), parts[2])) {
          found.add(Group.ofFirstVersion(directory));
        }
      }
    }
    return found;
  }

  /**
   * A group and its parents up to the mount root. In a container the path may be the host's and not
   * exist; the root is then the container's own group.
   */
  private static List<Path> upwards(Path root, String path) {
    List<Path> found = new ArrayList<>();
    Path relative = Path.of("/").relativize(Path.of(path)).normalize();
    for (Path at = root.resolve(relative); at != null && at.startsWith(root); at = at.getParent()) {
      if (Files.isDirectory(at)) {
        found.add(at);
      }
    }
    return found;
  }

  /**
   * @param limit name of the limit file
   * @param usage name of the usage file, which includes subgroups and cached files
   * @param prefix of the fields in memory.stat that include subgroups
   */
  private record Group(Path directory, String limit, String usage, String prefix) {
    static Group ofFirstVersion(Path directory) {
      return new Group(directory, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
    }

    static Group ofSecondVersion(Path directory) {
      return new Group(directory, "memory.max", "memory.current", "");
    }

    long limitBytes() {
      return number(directory.resolve(limit));
    }

    /** Bytes left for files. */
    long fileBytes() {
      long most = limitBytes();
      long used = number(directory.resolve(usage));
      Path statistics = directory.resolve("memory.stat");
      long active = field(statistics, prefix + "active_file", 1);
      long inactive = field(statistics, prefix + "inactive_file", 1);
      if (most == Long.MAX_VALUE
          || used == Long.MAX_VALUE
          || active == Long.MAX_VALUE
          || inactive == Long.MAX_VALUE) {
        return Long.MAX_VALUE;
      }
      return Math.max(0, most - Math.max(0, used - active - inactive));
    }
  }

  /** The only number in a file; {@link Long#MAX_VALUE} if absent or unlimited. */
  private static long number(Path file) {
    List<String> lines = lines(file);
    return lines.isEmpty() ? Long.MAX_VALUE : parsed(lines.get(0));
  }

  private static long field(Path file, String name, long unit) {
    for (String line : lines(file)) {
      String[] words = line.split("\\s+", 3);
      if (words.length > 1 && words[0].equals(name)) {
        long value = parsed(words[1]);
        return value > Long.MAX_VALUE / unit ? Long.MAX_VALUE : value * unit;
      }
    }
    return Long.MAX_VALUE;
  }

  private static long parsed(String number) {
    try {
      return number.equals(NO_LIMIT) ? Long.MAX_VALUE : Long.parseLong(number);
    } catch (NumberFormatException e) {
      return Long.MAX_VALUE;
    }
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException | RuntimeException e) {
      return List.of();
    }
  }
}
