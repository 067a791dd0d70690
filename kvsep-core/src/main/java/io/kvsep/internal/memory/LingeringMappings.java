package io.kvsep.internal.memory;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Mappings that their store has done with and of which somebody may still hold a view. Until the
 * garbage collector has found that nobody does, the system keeps their pages, and of a file that
 * was deleted its space on the device, too. A heap of which little is asked may not be collected
 * for hours; so this counts them, for whoever decides whether to hand out more views. Thread safe.
 */
final class LingeringMappings {
  private final long bytesMax;
  private final ReferenceQueue<ByteBuffer> collected = new ReferenceQueue<>();

  /** Keeps the references, which nobody else does. */
  private final Set<Lingering> lingering = ConcurrentHashMap.newKeySet();

  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param bytesMax more are many
   */
  LingeringMappings(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  private static final class Lingering extends PhantomReference<ByteBuffer> {
    final long bytes;

    Lingering(ByteBuffer mapping, ReferenceQueue<ByteBuffer> queue) {
      super(mapping, queue);
      this.bytes = mapping.capacity();
    }
  }

  /** Takes a mapping to which its owner drops all references. */
  void add(ByteBuffer mapping) {
    Lingering added = new Lingering(mapping, collected);
    lingering.add(added);
    bytes.addAndGet(added.bytes);
  }

  /** Bytes of mappings that linger, as far as the garbage collector has told. */
  long bytes() {
    for (Reference<?> gone = collected.poll(); gone != null; gone = collected.poll()) {
      if (gone instanceof Lingering mapping && lingering.remove(mapping)) {
        bytes.addAndGet(-mapping.bytes);
      }
    }
    return bytes.get();
  }

  /**
   * Whether there are so many that no more should come; costs one read as long as there are not.
   */
  boolean areMany() {
    return bytes.get() > bytesMax && bytes() > bytesMax;
  }
}
