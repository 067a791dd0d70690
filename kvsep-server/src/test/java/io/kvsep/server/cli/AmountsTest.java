package io.kvsep.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.server.cli.ProgressBar.Unit;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

final class AmountsTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1500, 1500",
    "64k, 65536",
    "64KiB, 65536",
    "512m, 536870912",
    "2G, 2147483648",
    "8388607t, 9223370937343148032"
  })
  void amountsOfBytesAreRead(String text, long expected) {
    assertEquals(expected, new Amounts.ByteCount().convert(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "k", "-1", "1.5g", "1x", "1 k", "8388608t", "99999999999999999999"})
  void otherAmountsOfBytesAreRefused(String text) {
    assertThrows(TypeConversionException.class, () -> new Amounts.ByteCount().convert(text));
  }

  @ParameterizedTest
  @CsvSource({
    "250ms, PT0.25S",
    "10s, PT10S",
    "5m, PT5M",
    "2h, PT2H",
    "1d, PT24H",
    "1D, PT24H",
    "PT90S, PT90S",
    "P1DT1H, PT25H"
  })
  void timesAreRead(String text, String expected) {
    assertEquals(Duration.parse(expected), new Amounts.TimeToLive().convert(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "5", "0s", "-5s", "PT-5S", "1w", "1.5h", "soon", "PT0S"})
  void otherTimesAreRefused(String text) {
    assertThrows(TypeConversionException.class, () -> new Amounts.TimeToLive().convert(text));
  }

  @Test
  void bytesAreShownWithFewDigits() {
    assertEquals("0 B", Amounts.bytes(0));
    assertEquals("999 B", Amounts.bytes(999));
    assertEquals("1.0 kB", Amounts.bytes(1000));
    assertEquals("1.0 MB", Amounts.bytes(999_999));
    assertEquals("123.5 MB", Amounts.bytes(123_456_789));
    assertEquals("9.2 EB", Amounts.bytes(Long.MAX_VALUE));
  }

  @Test
  void theBarShowsShareRateAndTimeLeft() {
    assertEquals(
        "ingest    [############............]  50%  25.0 MB/s  ETA 1:00",
        ProgressBar.line("ingest", 1_500_000_000, 3_000_000_000L, Unit.BYTES, 60_000_000_000L));
    assertEquals(
        "ingest    [########################] 100%  1.0 MB/s  ETA 0:00",
        ProgressBar.line("ingest", 2_000_000, 1_000_000, Unit.BYTES, 2_000_000_000));
    assertEquals(
        "ingest    [........................]   0%  0.0 MB/s  ETA 0:00",
        ProgressBar.line("ingest", 0, 1_000_000, Unit.BYTES, 0));
  }

  @Test
  void progressOfWorkWithoutATotalHasAmountAndRate() {
    assertEquals(
        "import    1.5 GB  25.0 MB/s  1:00",
        ProgressBar.line(
            "import", 1_500_000_000, ProgressBar.UNKNOWN, Unit.BYTES, 60_000_000_000L));
    assertEquals(
        "count     [############............]  50%  5,000/s  ETA 0:02",
        ProgressBar.line("count", 10_000, 20_000, Unit.ENTRIES, 2_000_000_000L));
  }
}
