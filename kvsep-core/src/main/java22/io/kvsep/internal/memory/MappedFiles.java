package io.kvsep.internal.memory;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Maps files by an arena each, and unmaps them by closing it. A read that comes too late is then an
 * exception; unless by {@code sun.misc.Unsafe}. For JDK 22 and later.
 */
public final class MappedFiles {
  /** Arenas by the address of the mapping, which is unique while it is mapped. */
  private static final Map<Long, Arena> ARENAS = new ConcurrentHashMap<>();

  private MappedFiles() {}

  /** Its thread starts with the first mapping whose views outlive it. */
  private static final class Views {
    static final Cleaner CLEANER = Cleaner.create();
  }

  /** Maps the first bytes of a file, read-only. */
  public static ByteBuffer map(FileChannel channel, long length) throws IOException {
    if (!RawBytes.isForeign() || length == 0) {
      return channel.map(MapMode.READ_ONLY, 0, length);
    }
    Arena arena = Arena.ofShared();
    boolean mapped = false;
    try {
      MemorySegment segment = channel.map(MapMode.READ_ONLY, 0, length, arena);
      ByteBuffer mapping = segment.asByteBuffer();
      ARENAS.put(segment.address(), arena);
      mapped = true;
      return mapping;
    } finally {
      if (!mapped) {
        arena.close();
      }
    }
  }

  /** Unmaps a mapping without views; one that was not made here is the garbage collector's. */
  static void unmap(MemorySegment mapping) {
    Arena arena = ARENAS.remove(mapping.address());
    if (arena != null) {
      arena.close();
    }
  }

  /** Unmaps a mapping once {@code views}, a segment over it, is unreachable. */
  static void unmapAfter(MemorySegment views) {
    Arena arena = ARENAS.remove(views.address());
    if (arena != null) {
      Views.CLEANER.register(views, arena::close);
    }
  }
}
