package io.kvsep.bench.compare;

import java.nio.ByteBuffer;

/** Copies what a library hands out to the start of an array; the number of bytes. */
final class Copy {
  private Copy() {}

  /** All that remains of {@code view}, which has nothing left afterwards. */
  static int of(ByteBuffer view, byte[] target) {
    int length = view.remaining();
    view.get(target, 0, length);
    return length;
  }

  static int of(byte[] source, int length, byte[] target) {
    System.arraycopy(source, 0, target, 0, length);
    return length;
  }
}
