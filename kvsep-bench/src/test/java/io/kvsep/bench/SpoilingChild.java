package io.kvsep.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A process that leaves a damaged store behind, and ends with its input. */
final class SpoilingChild {
  private SpoilingChild() {}

  public static void main(String[] words) throws IOException {
    Path store = Files.createDirectories(Path.of(words[0]));
    Files.write(store.resolve("CURRENT"), new byte[3]);
    System.out.println("ready");
    while (System.in.read() >= 0) {
      // Only the end counts.
    }
  }
}
