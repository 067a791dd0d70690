package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.config.EngineConfig.Shape;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What follows from the memory budget. */
final class ShapeTest {
  /** In MiB, and in KiB. */
  @ParameterizedTest
  @CsvSource({"6, 256", "16, 256", "31, 256", "32, 512", "100, 1024", "128, 2048", "4096, 2048"})
  void aFileThatReclaimMakesIsWrittenInPiecesThatFitTheBudget(long budget, int piece) {
    assertEquals(piece << 10, Shape.forBudget(budget << 20, /* packsBlocks= */ false).pieceBytes());
  }
}
