package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.bench.StopPoint.Step;
import io.kvsep.bench.StopPoint.Target;
import io.kvsep.error.CorruptionException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Killed processes lose nothing that was acknowledged; and a store, a device or a ledger that is
 * not as it should be is noticed. {@code kvsep bench kill --kills N} runs it for longer.
 */
final class KillLoopTest {
  private static final int WRITERS = 3;
  private static final int KEYS = 60;
  private static final Duration MINUTE = Duration.ofMinutes(1);

  @TempDir Path directory;

  /** No kill comes here, so what happens first is what the child does alone. */
  private static final StopPoint NEVER = new StopPoint(false, Step.SYNC, Target.OTHER, 1);

  private KillLoop loop(Class<?> child) {
    return new KillLoop(directory, child, 5, WRITERS, KEYS);
  }

  /** Of processes that come to their points, however slow the device is. */
  private KillLoop patientLoop(Class<?> child) {
    return new KillLoop(directory, child, 5, WRITERS, KEYS, MINUTE, MINUTE);
  }

  @Test
  void processesKilledAtAnyMomentLoseNothing() {
    KillLoop loop = loop(KillChild.class);
    for (int i = 0; i < Integer.getInteger("kvsep.kills", 4); i++) {
      loop.killOnce();
    }
    assertTrue(loop.acknowledged() > 0);
  }

  @Test
  void processesKilledAtCertainPointsLoseNothing() {
    KillLoop loop = patientLoop(KillChild.class);
    List<StopPoint> points =
        List.of(
            new StopPoint(true, Step.RENAME, Target.CURRENT, 1),
            new StopPoint(false, Step.SYNC, Target.SEGMENT, 30),
            new StopPoint(true, Step.WRITE, Target.SEGMENT, 150),
            new StopPoint(true, Step.SYNC, Target.MANIFEST, 8));
    points.forEach(loop::killAt);
    assertEquals(points.size(), loop.kills());
    assertEquals(points.size(), loop.killsAtPoints(), "all of these are reached");
    assertTrue(loop.acknowledged() > 0);
  }

  @Test
  void canaryALedgerThatIsWrittenTooEarlyIsNoticed() {
    KillLoop loop = patientLoop(EarlyLedger.class);
    // Right before its bytes are written, what was begun is called acknowledged.
    StopPoint point = new StopPoint(false, Step.WRITE, Target.SEGMENT, 20);
    String message = failure(() -> loop.killAt(point));
    assertTrue(message.contains("was acknowledged"), message);
  }

  /** By what is missing, or by the hole in front of what is known to be synced. */
  @Test
  void canaryADeviceThatLosesAnAcknowledgedWriteIsNoticed() {
    KillLoop loop = loop(ForgetfulDevice.class);
    RuntimeException error = assertThrows(RuntimeException.class, () -> loop.killAt(NEVER));
    boolean noticed =
        error instanceof CorruptionException || error instanceof FailedMeasurementException;
    assertTrue(noticed, error::toString);
  }

  @Test
  void canaryAProcessThatEndsByItselfIsNoticed() {
    KillLoop loop = loop(FailingChild.class);
    String message = failure(() -> loop.killAt(NEVER));
    assertTrue(message.contains("ended by itself"), message);
    assertTrue(message.contains("seeded"), message);
  }

  @Test
  void canaryAProcessThatCrashesIsNotTakenForAKilledOne() {
    KillLoop loop = loop(CrashingChild.class);
    String message = failure(() -> loop.killAt(NEVER));
    assertTrue(message.contains("ended by itself, with 134: a seeded crash"), message);
    assertEquals(0, loop.kills());
  }

  @Test
  void canaryAProcessThatHangsBeforeItOpensTheStoreIsNoticed() {
    KillLoop loop =
        new KillLoop(
            directory, HangingChild.class, 5, WRITERS, KEYS, Duration.ofMillis(200), MINUTE);
    String message = failure(() -> loop.killAt(NEVER));
    assertTrue(message.contains("did not open the store"), message);
    assertEquals(0, loop.kills());
  }

  @Test
  void damageIsToldWithTheSeedAndTheDirectoryWhichIsNotUsedAgain() {
    Path made = directory.resolve("not/there");
    List<String> words = List.of("--kills", "1", "--seed", "5", "--dir", made.toString());
    String message = failure(() -> KillCommand.run(words, SpoilingChild.class));
    assertTrue(message.contains("CURRENT"), message);
    String where = "(after kill 1 of seed 5; what was found is in " + made + ")";
    assertTrue(message.endsWith(where), message);
    UsageException refusal =
        assertThrows(UsageException.class, () -> KillCommand.run(words, SpoilingChild.class));
    assertEquals("--dir is not empty: " + made, refusal.getMessage());
  }

  @Test
  void canaryWrongMissingAndAdditionalEntriesAreNoticed() {
    KillLoop loop = patientLoop(KillChild.class);
    loop.killAt(new StopPoint(true, Step.WRITE, Target.SEGMENT, 200));
    loop.check();
    byte[] first;
    byte[] value;
    try (KvStore store = open(loop)) {
      try (KvCursor cursor = store.cursor(ScanOptions.prefix("w".getBytes(UTF_8)))) {
        assertTrue(cursor.next());
        first = cursor.key();
        value = cursor.value();
      }
    }
    byte[] counter;
    try (KvStore store = open(loop)) {
      byte[] found = store.get(KillWorkload.counterKey(1));
      counter = found == null ? new byte[0] : found;
    }
    byte[] other = value.length == 0 ? new byte[1] : new byte[value.length];
    assertNoticed(loop, "has not the value", store -> store.put(first, other));
    assertNoticed(loop, "expected, found", store -> store.delete(first));
    store(loop, store -> store.put(first, value));
    loop.check();
    byte[] additional = KillWorkload.key(WRITERS, 0);
    assertNoticed(loop, "no writer put", store -> store.put(additional, value));
    store(loop, store -> store.delete(additional));
    assertNoticed(loop, "were dropped", store -> store.keyspace("space-0-99"));
    store(loop, store -> store.dropKeyspace(store.keyspace("space-0-99")));
    loop.check();
    byte[] older = new byte[counter.length];
    assertNoticed(loop, "was acknowledged", store -> store.put(KillWorkload.counterKey(1), older));
    byte[] newer = counter.clone();
    newer[0] = 1;
    assertNoticed(loop, "that began", store -> store.put(KillWorkload.counterKey(1), newer));
    byte[] blind = counter.clone();
    blind[Long.BYTES] = 1;
    assertNoticed(loop, "before it began", store -> store.put(KillWorkload.counterKey(1), blind));
    store(loop, store -> store.put(KillWorkload.counterKey(1), counter));
    loop.check();
  }

  private static void assertNoticed(KillLoop loop, String message, Consumer<KvStore> defect) {
    store(loop, defect);
    String found = failure(loop::check);
    assertTrue(found.contains(message), found);
  }

  private static String failure(Executable run) {
    return String.valueOf(assertThrows(FailedMeasurementException.class, run).getMessage());
  }

  private static void store(KillLoop loop, Consumer<KvStore> work) {
    try (KvStore store = open(loop)) {
      work.accept(store);
    }
  }

  private static KvStore open(KillLoop loop) {
    Clock clock = Clock.offset(Clock.systemUTC(), Duration.ofDays(30));
    return KvStore.open(loop.store(), KvOptions.builder().clock(clock).build());
  }
}
