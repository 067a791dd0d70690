package io.kvsep.cluster.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.cluster.check.Call.Kind;
import io.kvsep.cluster.check.Call.Outcome;
import io.kvsep.cluster.check.LinearizabilityChecker.Violation;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class LinearizabilityCheckerTest {
  private static final int SEEDS = Integer.getInteger("kvsep.seeds", 200);

  private static void assertLegal(String... lines) {
    List<Call> calls = calls(lines);
    assertNull(LinearizabilityChecker.check(calls));
    assertTrue(permutes(calls), "the search by permutations thinks otherwise");
  }

  private static Violation assertIllegal(String... lines) {
    List<Call> calls = calls(lines);
    assertTrue(!permutes(calls), "the search by permutations thinks otherwise");
    Violation violation = LinearizabilityChecker.check(calls);
    assertNotNull(violation);
    return violation;
  }

  private static List<Call> calls(String... lines) {
    return History.parse(String.join("\n", lines));
  }

  @Test
  void anEmptyHistoryIsLegal() {
    assertLegal();
  }

  @Test
  void callsThatFollowEachOtherSeeEachOther() {
    assertLegal(
        "1 10 11 GET k - - DONE",
        "1 20 21 PUT k - a DONE",
        "2 30 31 GET k - a DONE",
        "1 40 41 DELETE k - - DONE",
        "2 50 51 GET k - - DONE");
  }

  @Test
  void aReadOfWhatWasOverwrittenIsIllegal() {
    Violation violation =
        assertIllegal("1 10 11 PUT k - a DONE", "1 20 21 PUT k - b DONE", "2 30 31 GET k - a DONE");
    assertEquals("k", violation.key());
    assertEquals(2, violation.order().size());
    assertEquals(calls("2 30 31 GET k - a DONE"), violation.next());
  }

  @Test
  void aReadBesideAWriteSeesTheOldOrTheNewValue() {
    assertLegal("1 10 40 PUT k - a DONE", "2 20 30 GET k - a DONE");
    assertLegal("1 10 40 PUT k - a DONE", "2 20 30 GET k - - DONE");
  }

  @Test
  void aReadBehindOneThatSawTheNewValueSeesItToo() {
    assertIllegal("1 10 90 PUT k - a DONE", "2 20 30 GET k - a DONE", "3 40 50 GET k - - DONE");
  }

  @Test
  void callsThatTouchAtOneMomentCountAsConcurrent() {
    assertLegal("1 10 20 PUT k - a DONE", "2 20 30 GET k - - DONE");
  }

  @Test
  void aWriteThatIsLostIsIllegal() {
    assertIllegal("1 10 11 PUT k - a DONE", "2 20 21 GET k - - DONE");
  }

  @Test
  void keysAreIndependent() {
    assertLegal("1 10 11 PUT k - a DONE", "2 20 21 GET l - - DONE");
    assertEquals(
        "l",
        assertIllegal("1 10 11 PUT k - a DONE", "1 12 13 PUT l - b DONE", "2 20 21 GET l - a DONE")
            .key());
  }

  @Test
  void compareAndSetIsMetOnce() {
    assertLegal("1 10 11 CAS k - a DONE", "2 20 40 CAS k a b DONE", "3 20 40 CAS k a c REFUSED");
    assertIllegal("1 10 11 CAS k - a DONE", "2 20 40 CAS k a b DONE", "3 20 40 CAS k a c DONE");
  }

  @Test
  void compareAndSetIsNotRefusedForNothing() {
    assertIllegal("1 10 11 PUT k - a DONE", "2 20 21 CAS k a b REFUSED");
    assertLegal("1 10 11 PUT k - a DONE", "1 20 40 PUT k - b DONE", "2 20 40 CAS k a c REFUSED");
  }

  @Test
  void compareAndSetOfTheAbsentValueIsAnInsert() {
    assertLegal("1 10 11 CAS k - a DONE", "1 20 21 CAS k - b REFUSED", "1 30 31 CAS k a - DONE");
    assertIllegal("1 10 11 CAS k - a DONE", "1 20 21 CAS k - b DONE");
  }

  @Test
  void anUnknownWriteTakesEffectAtAnyTimeOrNever() {
    assertLegal("1 10 - PUT k - a UNKNOWN", "2 20 21 GET k - - DONE");
    assertLegal("1 10 - PUT k - a UNKNOWN", "2 20 21 GET k - a DONE");
    assertLegal("1 10 - PUT k - a UNKNOWN", "2 20 21 GET k - - DONE", "2 30 31 GET k - a DONE");
    assertLegal("1 10 - PUT k - a UNKNOWN", "2 20 21 PUT k - b DONE", "2 30 31 GET k - a DONE");
    assertIllegal(
        "1 10 - PUT k - a UNKNOWN",
        "2 20 21 GET k - a DONE",
        "2 30 31 PUT k - b DONE",
        "2 40 41 GET k - a DONE");
    assertIllegal("2 20 21 GET k - a DONE", "1 30 - PUT k - a UNKNOWN");
  }

  @Test
  void anUnknownWriteExplainsARefusal() {
    assertLegal(
        "1 10 11 PUT k - a DONE",
        "2 20 - PUT k - b UNKNOWN",
        "3 30 31 CAS k a c REFUSED",
        "3 40 41 GET k - b DONE");
    assertIllegal(
        "1 10 11 PUT k - a DONE",
        "2 20 - PUT k - b UNKNOWN",
        "3 30 31 CAS k a c REFUSED",
        "3 40 41 GET k - a DONE");
  }

  @Test
  void anUnknownCompareAndSetTakesEffectOnlyWhereItIsMet() {
    assertLegal("1 10 11 PUT k - a DONE", "2 20 - CAS k a b UNKNOWN", "3 30 31 GET k - b DONE");
    assertIllegal("1 10 11 PUT k - a DONE", "2 20 - CAS k c b UNKNOWN", "3 30 31 GET k - b DONE");
  }

  @Test
  void unknownWritesThatAreSeenOneAfterTheOther() {
    assertLegal(
        "1 10 - PUT k - a UNKNOWN",
        "2 11 - CAS k a b UNKNOWN",
        "3 12 - CAS k b c UNKNOWN",
        "4 30 31 GET k - c DONE");
  }

  @Test
  void aReadWithoutAnAnswerAndAFailedCallTellNothing() {
    assertLegal("1 10 - GET k - - UNKNOWN", "1 20 21 PUT k - a FAILED", "2 30 31 GET k - - DONE");
    assertIllegal("1 20 21 PUT k - a FAILED", "2 30 31 GET k - a DONE");
  }

  private static void seeds(BiConsumer<Random, String> test) {
    Long asked = Long.getLong("kvsep.seed");
    long first = asked == null ? 1 : asked;
    long last = asked == null ? SEEDS : asked;
    for (long seed = first; seed <= last; seed++) {
      test.accept(new Random(seed), "seed " + seed + " (-Dkvsep.seed=" + seed + ")");
    }
  }

  private static List<Call> draw(Random random) {
    int unknown = random.nextInt(3) * 15;
    return RandomHistory.draw(random, 1 + random.nextInt(6), 1 + random.nextInt(3), 100, unknown);
  }

  @Test
  void whatAMapDidIsLegal() {
    seeds(
        (random, seed) -> {
          List<Call> calls = draw(random);
          assertEquals(calls, History.parse(History.text(calls)), seed);
          Violation violation = LinearizabilityChecker.check(calls);
          assertNull(violation, () -> seed + ": " + violation + History.text(calls));
        });
  }

  /** Thousands of calls with hundreds of unknown writes do not make the search explode. */
  @Test
  void longHistoriesAreDecided() {
    Random random = new Random(1);
    List<Call> calls = RandomHistory.draw(random, 8, 4, 5_000, 20);
    assertNull(LinearizabilityChecker.check(calls));
  }

  @Test
  void canaryAReadOfAValueThatWasNeverWrittenIsNoticed() {
    seeds(
        (random, seed) -> {
          List<Call> calls = draw(random);
          List<Integer> gets = indexes(calls, Kind.GET);
          if (!gets.isEmpty()) {
            int index = gets.get(random.nextInt(gets.size()));
            calls.set(index, withValue(calls.get(index), "w1"));
            assertNotNull(LinearizabilityChecker.check(calls), seed);
          }
        });
  }

  /** A read that returns what another write has overwritten for certain. */
  @Test
  void canaryAStaleReadIsNoticed() {
    int[] noticed = {0};
    seeds(
        (random, seed) -> {
          List<Call> calls = draw(random);
          for (int read : indexes(calls, Kind.GET)) {
            String stale = overwritten(calls, calls.get(read));
            if (stale != null) {
              List<Call> changed = new ArrayList<>(calls);
              changed.set(read, withValue(calls.get(read), stale));
              assertNotNull(LinearizabilityChecker.check(changed), () -> seed + " " + stale);
              noticed[0]++;
              return;
            }
          }
        });
    assertTrue(noticed[0] > SEEDS / 2 || Long.getLong("kvsep.seed") != null);
  }

  private static @Nullable String overwritten(List<Call> calls, Call read) {
    for (Call older : calls) {
      for (Call newer : calls) {
        if (isPut(older, read)
            && isPut(newer, read)
            && older.returned() < newer.invoked()
            && newer.returned() < read.invoked()) {
          return older.value();
        }
      }
    }
    return null;
  }

  private static boolean isPut(Call call, Call read) {
    return call.kind() == Kind.PUT && call.key().equals(read.key());
  }

  /** A write that was read is taken out of the history. */
  @Test
  void canaryALostWriteIsNoticed() {
    int[] noticed = {0};
    seeds(
        (random, seed) -> {
          List<Call> calls = draw(random);
          Set<String> read = new HashSet<>();
          for (int index : indexes(calls, Kind.GET)) {
            Call call = calls.get(index);
            if (call.value() != null) {
              read.add(call.value());
            }
          }
          boolean removed =
              calls.removeIf(
                  call -> call.isWrite() && call.value() != null && read.contains(call.value()));
          if (removed) {
            assertNotNull(LinearizabilityChecker.check(calls), seed);
            noticed[0]++;
          }
        });
    assertTrue(noticed[0] > SEEDS / 2 || Long.getLong("kvsep.seed") != null);
  }

  private static List<Integer> indexes(List<Call> calls, Kind kind) {
    List<Integer> found = new ArrayList<>();
    for (int i = 0; i < calls.size(); i++) {
      if (calls.get(i).kind() == kind && calls.get(i).outcome() == Outcome.DONE) {
        found.add(i);
      }
    }
    return found;
  }

  private static Call withValue(Call call, String value) {
    return new Call(
        call.client(),
        call.kind(),
        call.key(),
        call.expected(),
        value,
        call.outcome(),
        call.invoked(),
        call.returned());
  }

  /** Few values and answers at random: about half of these are illegal. */
  @Test
  void theSearchAgreesWithOneThatTriesAllOrders() {
    int[] legal = {0, 0};
    seeds(
        (random, seed) -> {
          for (int round = 0; round < 20; round++) {
            List<Call> calls = new ArrayList<>();
            int count = 2 + random.nextInt(5);
            for (int i = 0; i < count; i++) {
              calls.add(anyCall(random, i));
            }
            boolean expected = permutes(calls);
            legal[expected ? 1 : 0]++;
            assertEquals(
                expected,
                LinearizabilityChecker.check(calls) == null,
                () -> seed + "\n" + History.text(calls));
          }
        });
    assertTrue(Math.min(legal[0], legal[1]) > SEEDS || Long.getLong("kvsep.seed") != null);
  }

  private static Call anyCall(Random random, int client) {
    Kind kind = Kind.values()[random.nextInt(4)];
    Outcome outcome = random.nextInt(4) == 0 ? Outcome.UNKNOWN : Outcome.DONE;
    if (kind == Kind.CAS && outcome == Outcome.DONE && random.nextBoolean()) {
      outcome = Outcome.REFUSED;
    }
    long invoked = random.nextInt(20);
    return new Call(
        client,
        kind,
        "k",
        kind == Kind.CAS ? anyValue(random) : null,
        kind == Kind.DELETE ? null : kind == Kind.PUT ? "v" + random.nextInt(3) : anyValue(random),
        outcome,
        invoked,
        outcome == Outcome.UNKNOWN ? Call.NEVER : invoked + random.nextInt(10));
  }

  private static @Nullable String anyValue(Random random) {
    int drawn = random.nextInt(4);
    return drawn == 3 ? null : "v" + drawn;
  }

  /** All orders of each key, without any cleverness. */
  private static boolean permutes(List<Call> calls) {
    return calls.stream()
        .map(Call::key)
        .distinct()
        .allMatch(
            key ->
                permutes(
                    new ArrayList<>(
                        calls.stream()
                            .filter(call -> call.key().equals(key))
                            .filter(call -> call.outcome() != Outcome.FAILED)
                            .toList()),
                    null));
  }

  private static boolean permutes(List<Call> left, @Nullable String register) {
    if (left.stream().allMatch(call -> call.outcome() == Outcome.UNKNOWN)) {
      return true;
    }
    for (Call call : left) {
      boolean first = left.stream().allMatch(other -> other.returned() >= call.invoked());
      if (first) {
        List<Call> rest = new ArrayList<>(left);
        rest.remove(call);
        boolean met = Objects.equals(register, call.expected());
        boolean follows =
            switch (call.kind()) {
              case GET ->
                  call.outcome() == Outcome.UNKNOWN || Objects.equals(register, call.value());
              case PUT, DELETE -> true;
              case CAS ->
                  call.outcome() == Outcome.UNKNOWN || met == (call.outcome() == Outcome.DONE);
            };
        boolean writes = call.isWrite() && (call.kind() != Kind.CAS || met);
        if (follows && permutes(rest, writes ? call.value() : register)) {
          return true;
        }
      }
    }
    return false;
  }
}
