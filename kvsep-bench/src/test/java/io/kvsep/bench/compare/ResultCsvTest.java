package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
    assertEquals(rows, ResultCsv.read(file));
  }

  @Test
  void whatIsDamagedIsNamed() throws IOException {
    Path file = directory.resolve("a.csv");
    Files.writeString(file, ResultCsv.HEADER + "\n1,128,kvsep,load,x,1,/s\n1,128,kvsep\n");
    var problem = assertThrows(IllegalArgumentException.class, () -> ResultCsv.read(file));
    assertTrue(String.valueOf(problem.getMessage()).contains("line 3"), problem::getMessage);
    Files.writeString(file, "something else\n");
    assertThrows(IllegalArgumentException.class, () -> ResultCsv.read(file));
  }
}
