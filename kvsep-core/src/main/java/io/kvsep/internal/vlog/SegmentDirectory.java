package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Finds the file of a record. A pointer names a segment by its logical id. The record is in that
 * segment's file at the pointer's offset or, after a rewrite, in a blob file, its <em>home</em>. A
 * blob file has an id from the same counter. A record may be in several listed files; all copies
 * are equal.
 *
 * <p>Invariant: a file is listed before a pointer that needs it becomes visible, and unlisted only
 * when no reader, cursor or snapshot can have a pointer that no other listed file resolves. So in a
 * sound store a lookup inside an epoch succeeds.
 *
 * <p>Thread safe. The lookup of a segment with its own file is one volatile read and an array
 * access.
 */
public final class SegmentDirectory {
  /**
   * Files by {@code id - first}, with holes; to limit these, {@code old} has files with much lower
   * ids, ascending. {@code homes} has blob files, newest first, by the old segments whose records
   * they contain. Immutable once published.
   */
  private record Table(
      Segment[] old, long first, @Nullable Segment[] segments, Map<Long, Segment[]> homes) {
    Segment[] homesOf(long segment) {
      return homes.getOrDefault(segment, NONE);
    }
  }

  private static final Segment[] NONE = {};
  private static final Table EMPTY = new Table(NONE, 1, NONE, Map.of());

  /** Holes tolerated per file, in addition to {@link #HOLES_MAX}. */
  private static final int HOLES_PER_FILE = 16;

  private static final int HOLES_MAX = 1024;

  private final ReentrantLock lock = new ReentrantLock();
  private final ColdReadPolicy cold;

  private volatile Table table = EMPTY;

  public SegmentDirectory() {
    this(ColdReadPolicy.WARM);
  }

  public SegmentDirectory(ColdReadPolicy cold) {
    this.cold = cold;
  }

  public ColdReadPolicy cold() {
    return cold;
  }

  /** For a segment that cannot have been rewritten. */
  Segment get(long id) {
    Segment segment = find(id);
    if (segment == null) {
      throw noSuchSegment(id);
    }
    return segment;
  }

  private static CorruptionException noSuchSegment(long id) {
    String name = id > 0 ? StoreFiles.segment(id) : "segment " + id;
    return new CorruptionException(name, 0, "a segment of this store", "no such segment");
  }

  public @Nullable Segment find(long id) {
    Table current = table;
    long index = id - current.first;
    if (index < 0) {
      return findOld(current.old, id);
    }
    return index < current.segments.length ? current.segments[(int) index] : null;
  }

  private static @Nullable Segment findOld(Segment[] old, long id) {
    int low = 0;
    int high = old.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      long found = old[middle].id();
      if (found == id) {
        return old[middle];
      }
      if (found < id) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return null;
  }

  /**
   * Finds a record in the file of its segment, else in the newest home that has it. The caller is
   * inside an epoch.
   *
   * @return false only in a damaged store
   */
  boolean locate(long id, long offset, RecordPlace result) {
    return locate(id, offset, cold, result);
  }

  private boolean locate(long id, long offset, ColdReadPolicy relocations, RecordPlace result) {
    Segment own = find(id);
    if (own != null) {
      result.set(own, offset);
      return true;
    }
    for (Segment home : table.homesOf(id)) {
      long found = home.find(id, offset, relocations);
      if (found >= 0) {
        result.set(home, found);
        return true;
      }
    }
    return false;
  }

  void require(long id, long offset, RecordPlace result) {
    require(id, offset, /* isLoaded= */ false, result);
  }

  /**
   * @param isLoaded whether the relocations of the record were just read
   */
  void require(long id, long offset, boolean isLoaded, RecordPlace result) {
    if (locate(id, offset, isLoaded ? ColdReadPolicy.WARM : cold, result)) {
      return;
    }
    // The pointer or the relocations may be from an unreadable page.
    Region.requirePagesRead();
    Segment[] homes = table.homesOf(id);
    if (homes.length == 0) {
      throw noSuchSegment(id);
    }
    throw new CorruptionException(
        homes[0].name(),
        homes[0].publishedEnd(),
        "the record that " + StoreFiles.segment(id) + " had at offset " + offset,
        "no relocation of it");
  }

  public void add(Segment segment) {
    lock.lock();
    try {
      List<Segment> all = all();
      all.removeIf(existing -> existing.id() == segment.id());
      all.add(segment);
      table = tableOf(all, table.homes);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Makes a listed blob file a home of segments. Lookups use it only once the files of the segments
   * are unlisted. Copies all homes.
   */
  public void addHomes(Collection<Long> ids, Segment relocated) {
    if (!relocated.isRelocated() || ids.contains(relocated.id())) {
      throw new IllegalArgumentException(relocated.name() + " is no home of segments " + ids);
    }
    lock.lock();
    try {
      Table current = table;
      if (find(relocated.id()) != relocated) {
        throw new IllegalStateException(relocated.name() + " is not listed");
      }
      Map<Long, Segment[]> homes = new HashMap<>(current.homes);
      for (long id : ids) {
        List<Segment> files = new ArrayList<>(List.of(current.homesOf(id)));
        files.removeIf(file -> file.id() == relocated.id());
        files.add(relocated);
        files.sort(Comparator.comparingLong(Segment::id).reversed());
        homes.put(id, files.toArray(NONE));
      }
      table = new Table(current.old, current.first, current.segments, homes);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Removes the file from all lookups, also as a home. Earlier lookups may still read it, so the
   * caller frees it after a grace period. Null if it was not listed.
   */
  public @Nullable Segment unlist(long id) {
    Segment removed;
    lock.lock();
    try {
      removed = find(id);
      if (removed == null) {
        return null;
      }
      List<Segment> all = all();
      all.remove(removed);
      table = tableOf(all, removed.isRelocated() ? homesWithout(id) : table.homes);
    } finally {
      lock.unlock();
    }
    return removed;
  }

  private Map<Long, Segment[]> homesWithout(long fileId) {
    Map<Long, Segment[]> homes = new HashMap<>();
    table.homes.forEach(
        (segment, files) -> {
          Segment[] kept =
              Arrays.stream(files).filter(file -> file.id() != fileId).toArray(Segment[]::new);
          if (kept.length > 0) {
            homes.put(segment, kept);
          }
        });
    return homes;
  }

  /** Sorted by id. */
  public List<Segment> all() {
    Table current = table;
    List<Segment> all = new ArrayList<>(Arrays.asList(current.old));
    for (Segment segment : current.segments) {
      if (segment != null) {
        all.add(segment);
      }
    }
    return all;
  }

  public long bytes() {
    long bytes = 0;
    Table current = table;
    for (Segment segment : current.old) {
      bytes += segment.publishedEnd();
    }
    for (Segment segment : current.segments) {
      bytes += segment == null ? 0 : segment.publishedEnd();
    }
    return bytes;
  }

  /** No reader may use the files any more. */
  public void free() {
    for (Segment segment : all()) {
      segment.free();
    }
    table = EMPTY;
  }

  private static Table tableOf(List<Segment> all, Map<Long, Segment[]> homes) {
    if (all.isEmpty()) {
      return EMPTY;
    }
    all.sort((a, b) -> Long.compare(a.id(), b.id()));
    long last = all.get(all.size() - 1).id();
    int apart = 0;
    while (last - all.get(apart).id() > HOLES_MAX + HOLES_PER_FILE * (long) (all.size() - apart)) {
      apart++;
    }
    long first = all.get(apart).id();
    @Nullable Segment[] segments = new Segment[Math.toIntExact(last - first + 1)];
    for (Segment existing : all.subList(apart, all.size())) {
      segments[(int) (existing.id() - first)] = existing;
    }
    return new Table(all.subList(0, apart).toArray(Segment[]::new), first, segments, homes);
  }
}
