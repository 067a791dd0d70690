package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the file in which a record is. Pointers name a segment by its logical id: its records are
 * in the segment's own file, at the offset of the pointer, or, once it was rewritten, at
 * <em>home</em> in a relocated file. A relocated file is a segment of its own as well, with its own
 * id. A record may be in several listed files at once, and any copy is right.
 *
 * <p>A file is listed before the first pointer that needs it can be seen, and unlisted only when no
 * reader, cursor or snapshot can hold a pointer any more that no other listed file can resolve. So
 * a lookup inside an epoch always succeeds in a sound store.
 *
 * <p>Thread safe; where a segment has its own file, a lookup is one volatile read and an array
 * access.
 */
public final class SegmentDirectory {
  /**
   * Files by {@code id - first}, with holes where files are gone; and by ascending id those that
   * are so far below that the holes would be most of it. Never changed once published.
   */
  private record Table(
      Segment[] old, long first, @Nullable Segment[] segments, SegmentLocations homes) {}

  private static final Table EMPTY =
      new Table(new Segment[0], 1, new Segment[0], SegmentLocations.NONE);

  /** Holes that are not worth a search: for each file, and for all. */
  private static final int HOLES_PER_FILE = 16;

  private static final int HOLES_MAX = 1024;

  private final NonAllocatingLock lock = new NonAllocatingLock();
  private final ColdReadPolicy cold;

  private volatile Table table = EMPTY;

  /** Of files that are in memory. */
  public SegmentDirectory() {
    this(ColdReadPolicy.WARM);
  }

  /**
   * @param cold whether parts of files are loaded before they are touched
   */
  public SegmentDirectory(ColdReadPolicy cold) {
    this.cold = cold;
  }

  /** Whether parts of files are loaded before they are touched. */
  public ColdReadPolicy cold() {
    return cold;
  }

  /** The segment's own file; for one that cannot have been rewritten yet. */
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

  /** The file with this id, null when it is not listed. */
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
   * Finds the record that a pointer names as {@code offset} of segment {@code id}: in the segment's
   * own file, else in the newest home that has it. The caller is inside the epochs.
   *
   * @return whether it is anywhere; a pointer to nowhere is damage
   */
  boolean locate(long id, long offset, RecordPlace result) {
    Segment own = find(id);
    if (own != null) {
      result.set(own, offset);
      return true;
    }
    for (Segment home : table.homes.of(id)) {
      long found = home.find(id, offset, cold);
      if (found >= 0) {
        result.set(home, found);
        return true;
      }
    }
    return false;
  }

  /** As {@link #locate}; throws when the record is nowhere. */
  void require(long id, long offset, RecordPlace result) {
    if (locate(id, offset, result)) {
      return;
    }
    // Neither the pointer nor the relocations may have been read.
    Region.requirePagesRead();
    Segment[] homes = table.homes.of(id);
    if (homes.length == 0) {
      throw noSuchSegment(id);
    }
    throw new CorruptionException(
        homes[0].name(),
        homes[0].publishedEnd(),
        "the record that " + StoreFiles.segment(id) + " had at offset " + offset,
        "no relocation of it");
  }

  /** Lists a file, of either kind, in place of one that has the same id. */
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
   * Lets records of segments be found in a listed relocated file. As long as a segment's own file
   * is listed nobody looks there. Costs a copy of all that is known of homes.
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
      table =
          new Table(
              current.old, current.first, current.segments, current.homes.with(ids, relocated));
    } finally {
      lock.unlock();
    }
  }

  /**
   * From now on nobody finds the file with this id, neither as itself nor as a home. Who found it
   * before may still read in it, so the caller frees it after a grace period.
   *
   * @return null when it was not listed
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
      table = tableOf(all, table.homes.without(id));
    } finally {
      lock.unlock();
    }
    return removed;
  }

  /** All listed files by ascending id. */
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

  /** Bytes of all listed files. */
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

  /** Frees all; only when nobody can read any more. */
  public void free() {
    for (Segment segment : all()) {
      segment.free();
    }
    table = EMPTY;
  }

  private static Table tableOf(List<Segment> all, SegmentLocations homes) {
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
