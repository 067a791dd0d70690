package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ResultCsvTest {
  @TempDir Path directory;

  @Test
  void whatIsWrittenIsReadAgain() throws IOException {
    Path file = directory.resolve("a.csv");
    List<ResultRow> rows =
        List.of(
            new ResultRow(1, "128", "kvsep", "load", "until_written", 1234.5, "/s"),
            new ResultRow(2, "alternating", "lmdb", "get", "p99.9", 1e-3, "us"));
    ResultCsv.write(file, rows);
    assertEquals(
        "round,dataset,engine,workload,metric,value,unit", Files.readAllLines(file).get(0));
    assertEquals("1,128,kvsep,load,until_written,1234.5,/s", Files.readAllLines(file).get(1));
    Medians medians = Medians.read(file);
    assertEquals(1234.5, medians.value("128", "kvsep", "load", "until_written").orElseThrow());
    assertEquals(1e-3, medians.value("alternating", "lmdb", "get", "p99.9").orElseThrow());
  }
}
