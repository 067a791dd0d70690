package io.kvsep.bench;

import java.io.IOException;

/** A process that never gets as far as its store, and ends with its input. */
final class HangingChild {
  private HangingChild() {}

  public static void main(String[] words) throws IOException {
    while (System.in.read() >= 0) {
      // Only the end counts.
    }
  }
}
