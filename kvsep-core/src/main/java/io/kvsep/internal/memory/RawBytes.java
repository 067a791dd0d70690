package io.kvsep.internal.memory;

import java.nio.ByteBuffer;

/**
 * The bytes behind a {@link Region}. {@code src/main/java22} has a second version of this class and
 * of {@link MappedFiles}, which can also reach memory by {@code java.lang.foreign}, for JDK 22 and
 * later.
 */
class RawBytes extends AddressBytes {
  RawBytes(long length, boolean zeroed) {
    allocate(length, zeroed);
  }

  /** Takes ownership of a direct buffer, from 0 to its limit. */
  RawBytes(ByteBuffer mapping) {
    own(mapping);
  }

  /** Whether memory is reached by {@code java.lang.foreign}. */
  static boolean isForeign() {
    return false;
  }
}
