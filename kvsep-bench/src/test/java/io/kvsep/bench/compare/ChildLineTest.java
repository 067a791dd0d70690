package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ChildLineTest {
  @Test
  void everyKindIsUnderstood() {
    assertEquals(
        Optional.of(new ChildLine.About("bbolt", "1.5.0", "a=1,b=2")),
        ChildLine.parse("engine name=bbolt version=1.5.0 settings=a=1,b=2"));
    assertEquals(
        Optional.of(new ChildLine.Done("load", 5, 10)),
        ChildLine.parse("progress workload=load done=5 total=10"));
    assertEquals(
        Optional.of(new ChildLine.Result("get", "p99.9", 1.5e3, "us")),
        ChildLine.parse("result workload=get metric=p99.9 value=1.5e+03 unit=us"));
    assertEquals(
        Optional.of(new ChildLine.Failed("load", "no room, at all")),
        ChildLine.parse("failed workload=load reason=no room, at all"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "hello",
        "result workload=get metric=rate value=NaN unit=us",
        "result workload=get metric=rate value=1e999 unit=us",
        "result workload=get metric=rate value=- unit=us",
        "result workload=get metric=a,b value=1 unit=us",
        "progress workload=get done=99999999999999999999 total=1",
        "progress workload=get"
      })
  void everythingElseMeansNothing(String line) {
    assertTrue(ChildLine.parse(line).isEmpty());
  }

  @Test
  void whatTheChildSaysIsUnderstood() {
    var bytes = new java.io.ByteArrayOutputStream();
    ChildOutput output = new ChildOutput(new java.io.PrintStream(bytes, true));
    output.progress("load", 12, 10);
    output.rate("get", "rate", 1_000, 2_000_000_000L);
    output.seconds("open", "seconds", 140_000);
    output.failed("get", "two\nlines");
    var lines = bytes.toString(java.nio.charset.StandardCharsets.UTF_8).lines().toList();
    assertEquals(Optional.of(new ChildLine.Done("load", 10, 10)), ChildLine.parse(lines.get(0)));
    assertEquals(
        Optional.of(new ChildLine.Result("get", "rate", 500, "/s")), ChildLine.parse(lines.get(1)));
    assertEquals(
        Optional.of(new ChildLine.Result("open", "seconds", 0.000_14, "s")),
        ChildLine.parse(lines.get(2)));
    assertEquals(
        Optional.of(new ChildLine.Failed("get", "two lines")), ChildLine.parse(lines.get(3)));
  }
}
