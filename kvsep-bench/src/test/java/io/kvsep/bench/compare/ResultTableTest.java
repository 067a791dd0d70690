package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

final class ResultTableTest {
  private static final List<ResultRow> ROWS =
      List.of(
          rate(1, "kvsep", 3_000_000),
          rate(2, "kvsep", 1_000_000),
          rate(3, "kvsep", 2_000_000),
          rate(1, "rocksdb", 500_000),
          rate(2, "rocksdb", 700_000),
          rate(1, "lmdb", 1_000_000),
          rate(1, "kvsep-unverified", 4_000_000),
          rate(1, "kvsep-tuned", 3_000_000),
          rate(1, "rocksdb-tuned", 2_000_000),
          new ResultRow(1, "128", "kvsep", "open", "seconds", 0.0126, "s"),
          new ResultRow(1, "128", "lmdb", "open", "seconds", 0.0004, "s"),
          new ResultRow(1, "128", "kvsep", "load", "disk_by_raw", 1.02, "x"),
          new ResultRow(1, "128", "rocksdb", "load", "disk_by_raw", 2.04, "x"),
          new ResultRow(1, "128", "lmdb", "mixed", ResultRow.FAILED, 1, "x"));

  private static ResultRow rate(int round, String engine, double value) {
    return new ResultRow(round, "128", engine, "get", "rate", value, "/s");
  }

  @Test
  void mediansStandBesideEachOtherWithTheRatioToTheBestOther() {
    List<String> lines =
        new ResultTable(ROWS, List.of("kvsep", "rocksdb", "lmdb"), SyncMode.NONE)
            .text()
            .lines()
            .map(line -> line.strip().replaceAll(" {2,}", "|"))
            .toList();
    assertEquals("values of 128|kvsep|rocksdb|lmdb|kvsep / best other", lines.get(0));
    assertTrue(
        lines.contains("bytes on disk / raw|1.02|2.04|-|0.50 (rocksdb, less is better)"),
        lines::toString);
    assertTrue(
        lines.contains("get into a fresh array|2.00 M/s|500.0 k/s|1.00 M/s|2.00 (lmdb)"),
        lines::toString);
    assertTrue(lines.contains("90 % get, 10 % put [none]|-|-|FAILED"), lines::toString);
    assertTrue(
        lines.contains("open|12.6 ms|-|0.4 ms|31.50 (lmdb, less is better)"), lines::toString);
  }

  @Test
  void itselfWithOtherOptionsIsNotTheBestOther() {
    String text =
        new ResultTable(ROWS, List.of("kvsep", "kvsep-unverified", "rocksdb"), SyncMode.NONE)
            .text();
    assertTrue(text.contains("4.00 M/s") && text.contains("  4.00 (rocksdb)"), text);
  }

  @Test
  void tunedRowsStandBelowTheMainOnesAndAreComparedWithEachOther() {
    List<String> lines =
        new ResultTable(
                ROWS,
                List.of("kvsep", "kvsep-tuned", "rocksdb", "rocksdb-tuned", "lmdb"),
                SyncMode.NONE)
            .text()
            .lines()
            .map(line -> line.strip().replaceAll(" {2,}", "|"))
            .toList();
    assertEquals("values of 128|kvsep|rocksdb|lmdb|kvsep / best other", lines.get(0));
    int main = lines.indexOf("get into a fresh array|2.00 M/s|500.0 k/s|1.00 M/s|2.00 (lmdb)");
    assertEquals("tuned|3.00 M/s|2.00 M/s|-|1.50 (rocksdb)", lines.get(main + 1));
  }

  @Test
  void figuresThatNoEngineHasAreLeftOut() {
    String text = new ResultTable(ROWS, List.of("kvsep"), SyncMode.NONE).text();
    assertFalse(text.contains("iterate"));
    assertFalse(text.contains("FAILED"));
  }
}
