package io.kvsep.server.cli;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import org.junit.jupiter.api.Test;

/** What a failure of a random test of this module says. */
final class SeedsTest {
  @Test
  void theCommandThatRepeatsAFailureNamesThisModule() {
    AssertionError error =
        assertThrows(
            AssertionError.class,
            () ->
                Seeds.each(
                    SeedsTest.class,
                    1,
                    random -> {
                      throw new IllegalStateException("seeded");
                    }));

    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains("mvn -pl kvsep-server -am "), message);
  }
}
