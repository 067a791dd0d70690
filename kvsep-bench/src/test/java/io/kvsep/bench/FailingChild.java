package io.kvsep.bench;

/** A process that ends without a kill. */
final class FailingChild {
  private FailingChild() {}

  public static void main(String[] words) {
    System.err.println("a seeded failure");
    System.exit(1);
  }
}
