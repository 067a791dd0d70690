package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Finds segments by id. A segment is added before the first pointer into it can be seen and removed
 * only when no reader, cursor or snapshot can hold one any more, so a lookup inside an epoch always
 * succeeds in a sound store.
 *
 * <p>Thread safe; a lookup is one volatile read and an array access.
 */
public final class SegmentDirectory {
  /**
   * Segments by {@code id - first}; holes where segments are gone. Never changed once published.
   */
  private record Table(long first, @Nullable Segment[] segments) {}

  /** Files of sealed segments that are open at once, so that a large store stays below limits. */
  private static final int READ_FILES_MAX = 256;

  private final ReentrantLock lock = new ReentrantLock();
  private final ReentrantLock openLock = new ReentrantLock();

  /** Sealed segments whose file was opened to be read, in that order; guarded by openLock. */
  private final ArrayDeque<Segment> openedToRead = new ArrayDeque<>();

  private volatile Table table = new Table(1, new Segment[0]);

  /** The segment with this id; a pointer to one that is not here is damage. */
  Segment get(long id) {
    Segment segment = find(id);
    if (segment == null) {
      String name = id > 0 ? StoreFiles.segment(id) : "segment " + id;
      throw new CorruptionException(name, 0, "a segment of this store", "no such segment");
    }
    return segment;
  }

  public @Nullable Segment find(long id) {
    Table current = table;
    long index = id - current.first;
    return index >= 0 && index < current.segments.length ? current.segments[(int) index] : null;
  }

  /**
   * Makes sure that positional reads of the segment find its file open; closes another one where
   * there are too many. The caller is inside the epochs, which keep the file open until he leaves.
   *
   * @return false when the file cannot be opened
   */
  boolean openToRead(Segment segment) {
    if (segment.isOpen()) {
      return true;
    }
    openLock.lock();
    try {
      if (!segment.isOpen()) {
        segment.openToRead();
        openedToRead.add(segment);
      }
      if (openedToRead.size() > READ_FILES_MAX) {
        openedToRead.remove().closeToRead();
      }
      return true;
    } catch (IOException e) {
      // What was mapped can be read all the same, and what cannot be mapped says so itself.
      return false;
    } finally {
      openLock.unlock();
    }
  }

  public void add(Segment segment) {
    change(segment, segment.id());
  }

  /** Forgets a segment; the caller frees it. */
  public @Nullable Segment remove(long id) {
    Segment removed = find(id);
    if (removed != null) {
      change(null, id);
      openLock.lock();
      try {
        openedToRead.remove(removed);
      } finally {
        openLock.unlock();
      }
    }
    return removed;
  }

  /** All segments by ascending id. */
  public List<Segment> all() {
    List<Segment> all = new ArrayList<>();
    for (Segment segment : table.segments) {
      if (segment != null) {
        all.add(segment);
      }
    }
    return all;
  }

  /** Bytes of all segments. */
  public long bytes() {
    long bytes = 0;
    for (Segment segment : table.segments) {
      bytes += segment == null ? 0 : segment.publishedEnd();
    }
    return bytes;
  }

  /** Frees all; only when nobody can read any more. */
  public void free() {
    for (Segment segment : all()) {
      segment.free();
    }
    table = new Table(1, new Segment[0]);
  }

  private void change(@Nullable Segment segment, long id) {
    lock.lock();
    try {
      List<Segment> all = all();
      all.removeIf(existing -> existing.id() == id);
      if (segment != null) {
        all.add(segment);
        all.sort((a, b) -> Long.compare(a.id(), b.id()));
      }
      if (all.isEmpty()) {
        table = new Table(1, new Segment[0]);
        return;
      }
      long first = all.get(0).id();
      long last = all.get(all.size() - 1).id();
      @Nullable Segment[] segments = new Segment[Math.toIntExact(last - first + 1)];
      for (Segment existing : all) {
        segments[(int) (existing.id() - first)] = existing;
      }
      table = new Table(first, segments);
    } finally {
      lock.unlock();
    }
  }
}
