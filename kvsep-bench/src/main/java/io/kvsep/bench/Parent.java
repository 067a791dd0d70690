package io.kvsep.bench;

import java.io.IOException;

/** The process that started this one and holds its standard input. */
public final class Parent {
  private Parent() {}

  /**
   * Halts this process when its input ends, however its parent ended, because then nothing else
   * would end it.
   */
  public static void haltWithIt(int exitCode) {
    Thread thread =
        new Thread(
            () -> {
              try {
                while (System.in.read() >= 0) {
                  // Only the end counts.
                }
              } catch (IOException e) {
                // Same as the end.
              }
              Runtime.getRuntime().halt(exitCode);
            },
            "input");
    thread.setDaemon(true);
    thread.start();
  }
}
