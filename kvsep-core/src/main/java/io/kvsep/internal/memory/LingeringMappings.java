package io.kvsep.internal.memory;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts mappings that their store no longer uses but whose views may still be referenced. Until
 * the garbage collector finds the views unreachable, perhaps after hours on an idle heap, the
 * system keeps their pages, and the disk space of deleted files. The count limits handing out more
 * views. Thread safe.
 */
final class LingeringMappings {
  private final long bytesMax;
  private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

  /** Keeps the references reachable. */
  private final Set<Lingering> lingering = ConcurrentHashMap.newKeySet();

  private final AtomicLong bytes = new AtomicLong();

  LingeringMappings(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  private static final class Lingering extends PhantomReference<Object> {
    final long bytes;

    Lingering(Object keptByViews, long bytes, ReferenceQueue<Object> queue) {
      super(keptByViews, queue);
      this.bytes = bytes;
    }
  }

  /**
   * @param keptByViews reachable while a view is
   */
  void add(Object keptByViews, long length) {
    lingering.add(new Lingering(keptByViews, length, collected));
    bytes.addAndGet(length);
  }

  /** Excludes mappings that the garbage collector has reported. */
  long bytes() {
    for (Reference<?> gone = collected.poll(); gone != null; gone = collected.poll()) {
      if (gone instanceof Lingering mapping && lingering.remove(mapping)) {
        bytes.addAndGet(-mapping.bytes);
      }
    }
    return bytes.get();
  }

  /** Whether no more views should be handed out; one read while below the limit. */
  boolean areMany() {
    return bytes.get() > bytesMax && bytes() > bytesMax;
  }
}
