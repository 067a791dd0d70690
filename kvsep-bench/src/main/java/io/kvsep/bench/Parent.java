package io.kvsep.bench;

import java.io.IOException;

/** The process that has started this one, and has its standard input. */
public final class Parent {
  private Parent() {}

  /**
   * Halts this process when its input ends, however its parent ended: nobody is there to end it, or
   * for whom to work.
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
                // As good as the end.
              }
              Runtime.getRuntime().halt(exitCode);
            },
            "input");
    thread.setDaemon(true);
    thread.start();
  }
}
