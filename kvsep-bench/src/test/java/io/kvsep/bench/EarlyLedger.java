package io.kvsep.bench;

import java.io.IOException;
import java.util.function.UnaryOperator;

/** A process whose ledger says that operations are done before they are. */
final class EarlyLedger {
  private EarlyLedger() {}

  public static void main(String[] words) throws IOException {
    KillChild.run(words, UnaryOperator.identity(), /* lies= */ true);
  }
}
