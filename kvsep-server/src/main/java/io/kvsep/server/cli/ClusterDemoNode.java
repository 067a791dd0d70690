package io.kvsep.server.cli;

import java.io.IOException;

/** The program of a node of the demo, which does not outlive the demo, even if that is killed. */
final class ClusterDemoNode {
  private ClusterDemoNode() {}

  /** Runs a command of {@link Kvsep} until it ends or standard input does. */
  public static void main(String[] arguments) {
    Thread watch = new Thread(ClusterDemoNode::endWithInput, "kvsep-demo-watch");
    watch.setDaemon(true);
    watch.start();
    Kvsep.main(arguments);
  }

  private static void endWithInput() {
    try {
      while (System.in.read() >= 0) {
        // The demo writes nothing.
      }
    } catch (IOException e) {
      // The pipe is broken, as when it ends.
    }
    Runtime.getRuntime().halt(Kvsep.FAILED);
  }
}
