package io.kvsep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The command line is understood as a whole or refused. */
final class ArgumentsTest {
  private static Arguments parse(String... words) {
    return Arguments.parse(List.of(words), Set.of("reverse"));
  }

  @Test
  void valuesAndFlagsAreRead() {
    Arguments arguments = parse("--entries", "10_000", "--reverse");
    assertEquals(10_000, arguments.number("entries", 1, 1, 1_000_000));
    assertEquals(7, arguments.number("batch", 7, 1, 10));
    assertTrue(arguments.flag("reverse"));
    assertFalse(arguments.flag("keys-only"));
    arguments.requireAllUsed();
  }

  @Test
  void unknownOptionIsRefused() {
    Arguments arguments = parse("--entris", "1");
    assertThrows(UsageException.class, arguments::requireAllUsed);
  }

  @Test
  void missingRepeatedAndStrayWordsAreRefused() {
    assertThrows(UsageException.class, () -> parse("--entries"));
    assertThrows(UsageException.class, () -> parse("--entries", "1", "--entries", "2"));
    assertThrows(UsageException.class, () -> parse("entries"));
  }

  @Test
  void numberOutsideItsLimitsIsRefused() {
    assertThrows(UsageException.class, () -> parse("--batch", "0").number("batch", 1, 1, 10));
    assertThrows(UsageException.class, () -> parse("--batch", "x").number("batch", 1, 1, 10));
  }

  @Test
  void secondsMayHaveAFraction() {
    assertEquals(Duration.ofMillis(200), parse("--seconds", "0.2").seconds("seconds", 5, 10));
    assertEquals(Duration.ofSeconds(10), parse("--seconds", "10").seconds("seconds", 5, 10));
    assertEquals(Duration.ofSeconds(5), parse().seconds("seconds", 5, 10));
    for (String wrong : List.of("0", "-1", "10.001", "0.0001", "x", "1e99")) {
      assertThrows(UsageException.class, () -> parse("--seconds", wrong).seconds("seconds", 5, 10));
    }
  }

  @Test
  void choiceOutsideTheListIsRefused() {
    assertEquals("a", parse().choice("via", "a", "b"));
    assertEquals("b", parse("--via", "b").choice("via", "a", "b"));
    assertThrows(UsageException.class, () -> parse("--via", "c").choice("via", "a", "b"));
  }
}
