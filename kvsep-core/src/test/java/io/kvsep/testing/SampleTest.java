package io.kvsep.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A draw meets every trait, is repeated by its seed, and is a part of all cases. */
final class SampleTest {
  private static final List<Integer> NUMBERS = IntStream.range(0, 1_000).boxed().toList();

  @Test
  void aDrawMeetsEveryValueOfEveryTrait() {
    Sample<Integer> sample =
        Sample.of(NUMBERS).meeting(number -> number % 17).meeting(number -> number / 100);
    for (long seed = 0; seed < 50; seed++) {
      List<Integer> drawn = sample.drawn(1, seed);
      assertEquals(17, drawn.stream().map(number -> number % 17).distinct().count());
      assertEquals(10, drawn.stream().map(number -> number / 100).distinct().count());
      assertTrue(drawn.size() <= 27, drawn::toString);
    }
  }

  @Test
  void aDrawHasSoManyCasesInTheirOrderAndNoneTwice() {
    List<Integer> drawn = Sample.of(NUMBERS).meeting(number -> number % 3).drawn(40, 5);
    assertEquals(40, new HashSet<>(drawn).size());
    assertEquals(drawn.stream().sorted().toList(), drawn);
    assertEquals(NUMBERS, Sample.of(NUMBERS).drawn(2_000, 5));
  }

  @Test
  void aSeedRepeatsADrawAndAnotherGivesAnother() {
    Sample<Integer> sample = Sample.of(NUMBERS).meeting(number -> number % 3);
    assertEquals(sample.drawn(40, 5), sample.drawn(40, 5));
    assertNotEquals(sample.drawn(40, 5), sample.drawn(40, 6));
  }

  @Test
  void everyCaseIsDrawnOnceThereAreEnoughDraws() {
    Sample<Integer> sample = Sample.of(NUMBERS);
    Set<Integer> drawn = new HashSet<>();
    for (long seed = 0; seed < 200; seed++) {
      drawn.addAll(sample.drawn(50, seed));
    }
    assertEquals(NUMBERS.size(), drawn.size());
  }

  @Test
  void aFailureTellsHowToRepeatIt() {
    List<Integer> cases = new ArrayList<>();
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () ->
                Sample.of(NUMBERS)
                    .run(
                        SampleTest.class,
                        "aFailureTellsHowToRepeatIt",
                        7,
                        (some, seed) -> {
                          cases.addAll(some);
                          throw new IllegalStateException("broken");
                        }));
    String message = String.valueOf(error.getMessage());
    String command =
        "mvn -pl kvsep-core test -Dtest=SampleTest#aFailureTellsHowToRepeatIt -Dkvsep.";
    assertTrue(message.contains("broken") && message.contains(command), message);
    assertEquals(Sample.EXHAUSTIVE ? NUMBERS.size() : 7, cases.size());
  }
}
