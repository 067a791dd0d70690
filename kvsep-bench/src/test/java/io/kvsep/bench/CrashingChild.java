package io.kvsep.bench;

/** A process that ends as a JVM does that crashes, by SIGABRT. */
final class CrashingChild {
  private CrashingChild() {}

  public static void main(String[] words) {
    System.err.println("a seeded crash");
    Runtime.getRuntime().halt(128 + 6);
  }
}
