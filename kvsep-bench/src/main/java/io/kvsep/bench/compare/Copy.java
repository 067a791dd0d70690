package io.kvsep.bench.compare;

import java.nio.ByteBuffer;

/** Copies a library's result to the start of an array; returns the number of bytes. */
final class Copy {
  private Copy() {}

  /** Copies and consumes the rest of {@code view}. */
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
