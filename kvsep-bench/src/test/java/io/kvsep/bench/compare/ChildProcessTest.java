package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Whatever becomes of a child, the comparison knows it and goes on. */
@DisabledOnOs(OS.WINDOWS)
final class ChildProcessTest {
  private final List<ChildLine.Done> progress = new ArrayList<>();

  private ChildProcess.Outcome run(Duration silenceMax, String script) {
    return ChildProcess.run(List.of("/bin/sh", "-c", script), silenceMax, progress::add);
  }

  private static String reason(ChildProcess.Outcome outcome) {
    ChildLine.Failed failed = outcome.failed();
    assertNotNull(failed);
    return failed.workload() + ": " + failed.reason();
  }

  @Test
  void figuresOfOneThatDoesEverythingAreKept() {
    ChildProcess.Outcome outcome =
        run(
            Duration.ofSeconds(60),
            "echo engine name=a version=1 settings=x=1; echo noise; echo noise >&2;"
                + " echo progress workload=load done=1 total=2;"
                + " echo result workload=load metric=rate value=2 unit=/s");
    assertNull(outcome.failed());
    assertEquals(new ChildLine.About("a", "1", "x=1"), outcome.about());
    assertEquals(List.of(new ChildLine.Result("load", "rate", 2, "/s")), outcome.results());
    assertEquals(List.of(new ChildLine.Done("load", 1, 2)), progress);
    assertEquals(List.of(), outcome.errors());
  }

  @Test
  void oneThatFailsSaysWhyAndKeepsWhatItHad() {
    ChildProcess.Outcome outcome =
        run(
            Duration.ofSeconds(60),
            "echo result workload=load metric=rate value=2 unit=/s; echo the trace >&2;"
                + " echo failed workload=get reason=wrong value; exit 1");
    assertEquals("get: wrong value", reason(outcome));
    assertEquals(1, outcome.results().size());
    assertEquals(List.of("the trace"), outcome.errors());
  }

  @Test
  void oneThatDiesIsReportedWithTheWorkloadItWasIn() {
    ChildProcess.Outcome outcome =
        run(Duration.ofSeconds(60), "echo progress workload=mixed done=1 total=2; kill -9 $$");
    assertEquals("mixed: ended with exit code 137", reason(outcome));
  }

  @Test
  void oneThatIsSilentIsKilled() {
    long start = System.nanoTime();
    ChildProcess.Outcome outcome =
        run(Duration.ofSeconds(1), "echo progress workload=get done=1 total=2; exec sleep 300");
    assertTrue(reason(outcome).startsWith("get: silent for"), outcome::toString);
    assertTrue(System.nanoTime() - start < 200_000_000_000L);
  }

  @Test
  void oneThatIsKilledIsGoneBeforeAnythingElseIsDone() {
    Set<ProcessHandle> before = ProcessHandle.current().children().collect(Collectors.toSet());
    List<ProcessHandle> killed = new ArrayList<>();
    ChildProcess.run(
        List.of("/bin/sh", "-c", "echo progress workload=get done=1 total=2; exec sleep 300"),
        Duration.ofSeconds(1),
        done -> ProcessHandle.current().children().forEach(killed::add));
    killed.removeAll(before);
    assertEquals(1, killed.size());
    assertFalse(killed.get(0).isAlive());
  }

  @Test
  void oneThatCannotBeStartedIsReported() {
    ChildProcess.Outcome outcome =
        ChildProcess.run(List.of("/nonexistent/program"), Duration.ofSeconds(1), progress::add);
    assertTrue(reason(outcome).startsWith("start: "), outcome::toString);
  }
}
