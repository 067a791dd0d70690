package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.bench.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CompareCommandTest {
  @TempDir Path directory;

  @Test
  void enginesTakeTurnsAndEveryFigureIsKept() {
    Path csv = directory.resolve("a.csv");
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream output = System.out;
    PrintStream errors = System.err;
    System.setOut(new PrintStream(printed, true, UTF_8));
    System.setErr(new PrintStream(new ByteArrayOutputStream(), true, UTF_8));
    try {
      CompareCommand.run(
          List.of(
              ("--engines kvsep,lmdb-writemap --sets 100:500 --rounds 2 --seconds 1 --gets 100"
                      + " --workloads get --cache-mib 16 --csv "
                      + csv
                      + " --dir "
                      + directory.resolve("run"))
                  .split(" ")));
    } finally {
      System.setOut(output);
      System.setErr(errors);
    }
    List<ResultRow> rows = ResultCsv.read(csv);
    List<String> order =
        rows.stream()
            .filter(row -> row.workload().equals("get") && row.metric().equals("rate"))
            .map(row -> row.round() + " " + row.engine())
            .collect(Collectors.toList());
    assertEquals(List.of("1 kvsep", "1 lmdb-writemap", "2 lmdb-writemap", "2 kvsep"), order);
    assertTrue(rows.stream().allMatch(row -> row.dataset().equals("100")));
    assertTrue(printed.toString(UTF_8).contains("get, random, copied"), printed::toString);
    assertFalse(Files.exists(directory.resolve("run/store")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--engines oracle",
        "--sets 77",
        "--sets 77:x",
        "--scale 0",
        "--scale x",
        "--workloads walk",
        "--durability some",
        "--memory-limit 12X",
        "--memory-limit M",
        "--rounds 0",
        "--tune rocksdb",
        "--nothing 1"
      })
  void misspeltOptionsAreRefused(String words) {
    assertThrows(UsageException.class, () -> CompareOptions.parse(List.of(words.split(" "))));
  }

  @Test
  void setsAreScaled() {
    CompareOptions options = CompareOptions.parse(List.of("--scale", "0.1"));
    assertEquals(
        List.of(
            new CompareOptions.DataSet("128", 300_000, "128"),
            new CompareOptions.DataSet("1024", 100_000, "1024"),
            new CompareOptions.DataSet("16384", 8_000, "16384"),
            new CompareOptions.DataSet("alternating", 30, "64000/2932000")),
        options.sets());
    assertEquals(9, options.engines().size());
    assertEquals(
        1_200L << 20, CompareOptions.parse(List.of("--memory-limit", "1200M")).memoryLimitBytes());
  }
}
