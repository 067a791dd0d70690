package io.kvsep.internal.memory;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.File;
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
  private static final byte[] TOTAL = "MemTotal:".getBytes(ISO_8859_1);
  private static final byte[] AVAILABLE = "MemAvailable:".getBytes(ISO_8859_1);

  private final File meminfo;
  private final File stat;
  private final File membership;
  private final Path groups;

  @GuardedBy("this")
  private final KernelFile file = new KernelFile();

  /** What {@link #membership} held when {@link #found} was made. */
  @GuardedBy("this")
  private byte[] known = {};

  @GuardedBy("this")
  private List<Group> found = List.of();

  public SystemMemory() {
    this(Path.of("/proc"), Path.of("/sys/fs/cgroup"));
  }

  SystemMemory(Path proc, Path groups) {
    this.meminfo = proc.resolve("meminfo").toFile();
    this.stat = proc.resolve("self/stat").toFile();
    this.membership = proc.resolve("self/cgroup").toFile();
    this.groups = groups;
  }

  /**
   * Memory of the machine or of the smallest enclosing control group; {@link Long#MAX_VALUE} if
   * unknown.
   */
  public synchronized long limitBytes() {
    long limit = machine(TOTAL);
    for (Group group : groups()) {
      limit = Math.min(limit, number(group.limit));
    }
    return Math.min(limit, PhysicalMemory.bytes());
  }

  @Override
  public synchronized long fileBytes() {
    long available = machine(AVAILABLE);
    for (Group group : groups()) {
      available = Math.min(available, fileBytes(group));
    }
    return available == Long.MAX_VALUE ? PhysicalMemory.bytes() / 2 : available;
  }

  @Override
  public synchronized long majorFaults() {
    file.read(stat);
    // The program name, in parentheses, may contain anything.
    long faults = file.word(')', 9);
    return faults == Long.MAX_VALUE ? 0 : faults;
  }

  @GuardedBy("this")
  private long machine(byte[] field) {
    file.read(meminfo);
    long kibibytes = file.field(field);
    return kibibytes > Long.MAX_VALUE / 1024 ? Long.MAX_VALUE : kibibytes * 1024;
  }

  @GuardedBy("this")
  private long number(File holder) {
    file.read(holder);
    return file.number();
  }

  /** Bytes that a group leaves for files. */
  @GuardedBy("this")
  private long fileBytes(Group group) {
    long most = number(group.limit);
    long used = number(group.usage);
    file.read(group.statistics);
    long active = file.field(group.active);
    long inactive = file.field(group.inactive);
    if (most == Long.MAX_VALUE
        || used == Long.MAX_VALUE
        || active == Long.MAX_VALUE
        || inactive == Long.MAX_VALUE) {
      return Long.MAX_VALUE;
    }
    return Math.max(0, most - Math.max(0, used - active - inactive));
  }

  /**
   * Returns the control groups of this process and their parents, of the version that accounts
   * memory.
   */
  @GuardedBy("this")
  private List<Group> groups() {
    file.read(membership);
    if (!file.hasContent(known)) {
      known = file.content();
      found = find(new String(known, UTF_8));
    }
    return found;
  }

  private List<Group> find(String text) {
    List<Group> all = new ArrayList<>();
    for (String line : text.split("\n", -1)) {
      String[] parts = line.split(":", 3);
      if (parts.length == 3 && parts[1].isEmpty()) {
        for (Path directory : upwards(groups, parts[2])) {
          all.add(Group.ofSecondVersion(directory));
        }
      } else if (parts.length == 3 && List.of(parts[1].split(",", -1)).contains("memory")) {
        for (Path directory : upwards(groups.resolve("memory"), parts[2])) {
          all.add(Group.ofFirstVersion(directory));
        }
      }
    }
    return all;
  }

  /**
   * A group and its parents up to the mount root. In a container the path may be the host's and not
   * exist; the root is then the container's own group.
   */
  private static List<Path> upwards(Path root, String path) {
    List<Path> all = new ArrayList<>();
    Path relative = relative(path);
    for (Path at = root.resolve(relative); at != null && at.startsWith(root); at = at.getParent()) {
      if (Files.isDirectory(at)) {
        all.add(at);
      }
    }
    return all;
  }

  /** The root for a name that is no path, or that the JVM's locale cannot express. */
  private static Path relative(String path) {
    try {
      return Path.of("/").relativize(Path.of(path)).normalize();
    } catch (IllegalArgumentException e) {
      return Path.of("");
    }
  }

  /**
   * A control group.
   *
   * @param usage includes subgroups and cached files
   * @param active name of a field in {@code statistics} that includes subgroups
   * @param inactive likewise
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Group(File limit, File usage, File statistics, byte[] active, byte[] inactive) {
    static Group ofFirstVersion(Path directory) {
      return of(directory, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
    }

    static Group ofSecondVersion(Path directory) {
      return of(directory, "memory.max", "memory.current", "");
    }

    private static Group of(Path directory, String limit, String usage, String prefix) {
      return new Group(
          directory.resolve(limit).toFile(),
          directory.resolve(usage).toFile(),
          directory.resolve("memory.stat").toFile(),
          (prefix + "active_file").getBytes(ISO_8859_1),
          (prefix + "inactive_file").getBytes(ISO_8859_1));
    }
  }
}
