package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.MetamorphicHistory.Call;
import io.kvsep.MetamorphicOptions.Pause;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.Engines;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.LyingStorage.Lie;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The same random history with many sets of options, with the store closed, killed or cut off from
 * power at its pauses or not: every answer is the same. What differs is told with the seed, the
 * options, and as short a part of the history as still shows it.
 */
final class MetamorphicTest {
  private static final int HISTORIES = 200;

  /** Of a short run. */
  private static final int DRAWN = 2;

  private static final int LENGTH = 500;
  private static final int TRIES_MAX = 400;

  @Test
  void noAnswerDependsOnTheOptions() {
    Seeds.some(
        MetamorphicTest.class,
        "noAnswerDependsOnTheOptions",
        HISTORIES,
        DRAWN,
        seed -> requireSame(seed, MetamorphicOptions.ALL));
  }

  @Test
  void canaryALossAtAPauseIsNoticedAndShrunken() {
    MetamorphicOptions forgetful =
        MetamorphicOptions.of(
            "forgetful", CommitSync.ON_DEMAND, 64, 128, 4 << 10, Engines.TINY, 1.3, 1, Pause.CRASH);
    String message = difference(forgetful);
    // A write, a pause and a look.
    assertTrue(message.matches("(?s).*forgetful.*\\b[1-9] calls: .*PAUSE.*"), message);
  }

  @Test
  void canaryASyncThatIsLeftOutIsNoticed() {
    MetamorphicOptions lying =
        MetamorphicOptions.ALL
            .get(1)
            .with(
                "lying",
                plain ->
                    new LyingStorage(
                        plain,
                        Lie.SYNC_LEFT_OUT,
                        (operation, kind) -> operation == Operation.SYNC && kind == Kind.SEGMENT));
    assertTrue(difference(lying).contains("lying"));
  }

  /** Each draw of a short run has to notice; what it told. */
  private static String difference(MetamorphicOptions broken) {
    List<MetamorphicOptions> both = List.of(MetamorphicOptions.ALL.get(0), broken);
    String message = "";
    for (long draw = 1; draw <= 3; draw++) {
      List<Long> seeds = Seeds.drawn(HISTORIES, DRAWN, draw);
      AssertionError noticed =
          assertThrows(AssertionError.class, () -> seeds.forEach(seed -> requireSame(seed, both)));
      message = String.valueOf(noticed.getMessage());
    }
    return message;
  }

  private static void requireSame(long seed, List<MetamorphicOptions> all) {
    List<Call> calls = MetamorphicHistory.drawn(seed, LENGTH);
    MetamorphicOptions plain = all.get(0);
    List<String> expected = MetamorphicRun.answers(plain, calls);
    assertEquals(LENGTH + 1, expected.size());
    for (MetamorphicOptions options : all.subList(1, all.size())) {
      String found = firstDifference(expected, answersOrError(options, calls), calls);
      if (found != null) {
        throw new AssertionError(
            "seed "
                + seed
                + ", "
                + options.name()
                + ": "
                + found
                + shrunken(plain, options, calls));
      }
    }
  }

  /** An error ends the answers, and is the last one. */
  private static List<String> answersOrError(MetamorphicOptions options, List<Call> calls) {
    List<String> answers = new ArrayList<>();
    try {
      MetamorphicRun.collect(options, calls, answers);
    } catch (RuntimeException | AssertionError e) {
      answers.add(e.toString());
    }
    return answers;
  }

  private static String shrunken(
      MetamorphicOptions plain, MetamorphicOptions options, List<Call> calls) {
    List<Call> part =
        MetamorphicHistory.shrunken(
            calls,
            some ->
                firstDifference(
                        MetamorphicRun.answers(plain, some), answersOrError(options, some), some)
                    != null,
            TRIES_MAX);
    String found =
        firstDifference(MetamorphicRun.answers(plain, part), answersOrError(options, part), part);
    return "; the same in " + part.size() + " calls: " + part + ": " + found;
  }

  /** The first call that is answered differently, null when there is none. */
  private static @Nullable String firstDifference(
      List<String> expected, List<String> found, List<Call> calls) {
    for (int i = 0; i < expected.size(); i++) {
      String other = i < found.size() ? found.get(i) : "nothing";
      if (!expected.get(i).equals(other)) {
        String call = i < calls.size() ? calls.get(i).toString() : "the last look at everything";
        return "call " + i + ", " + call + ", gave " + other + " instead of " + expected.get(i);
      }
    }
    return null;
  }
}
