package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.bench.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CompareCommandTest {
  @TempDir Path directory;

  @Test
  void enginesTakeTurnsAndEveryFigureIsKept() throws IOException {
    Path run = directory.resolve("run");
    Path old = Files.writeString(Files.createDirectories(run).resolve("old"), "of another program");
    Path csv = directory.resolve("a.csv");
    Path charts = directory.resolve("charts");
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream output = System.out;
    PrintStream errors = System.err;
    System.setOut(new PrintStream(printed, true, UTF_8));
    System.setErr(new PrintStream(new ByteArrayOutputStream(), true, UTF_8));
    try {
      CompareCommand.run(
          List.of(
              ("--engines kvsep,lmdb-tuned --sets 100:500 --rounds 2 --seconds 1 --gets 100"
                      + " --workloads get --rest none --cache-mib 16 --csv "
                      + csv
                      + " --charts "
                      + charts
                      + " --dir "
                      + run)
                  .split(" ")));
    } finally {
      System.setOut(output);
      System.setErr(errors);
    }
    List<String> order =
        Files.readAllLines(csv).stream()
            .filter(line -> line.contains(",get,rate,"))
            .map(line -> line.replaceAll(",get,.*", ""))
            .toList();
    assertEquals(
        List.of("1,100,kvsep", "1,100,lmdb-tuned", "2,100,lmdb-tuned", "2,100,kvsep"), order);
    assertTrue(hasPicture(charts));
    assertTrue(printed.toString(UTF_8).contains("get into a fresh array"), printed::toString);
    try (var left = Files.list(run)) {
      assertEquals(List.of(old), left.toList());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--csv", "--charts"})
  void placeForTheFiguresIsTriedBeforeAnythingIsRun(String option) throws IOException {
    Path file = Files.writeString(directory.resolve("file"), "");
    Path run = directory.resolve("run");
    String below = file.resolve("figures").toString();
    List<String> words = new ArrayList<>(List.of(option, below, "--dir", run.toString()));
    words.addAll(List.of("--engines", "kvsep", "--sets", "8:1", "--seconds", "1"));
    assertThrows(UsageException.class, () -> CompareCommand.run(words));
    assertFalse(Files.exists(run));
  }

  private static boolean hasPicture(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      return files.anyMatch(file -> file.toString().endsWith(".svg"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--engines oracle",
        "--engines kvsep,lmdb,kvsep",
        "--sets 77",
        "--sets 1024:1000,1024:1000000",
        "--sets 128,128:10",
        "--sets 77:x",
        "--scale 0",
        "--scale x",
        "--workloads walk",
        "--durability some",
        "--memory-limit 12X",
        "--memory-limit M",
        "--memory-limit %",
        "--sets 1024:1000 --memory-limit 25%",
        "--rounds 0",
        "--rest yes",
        "--rest idle,idle",
        "--tune rocksdb",
        "--tune rocksdb.bloc=8192",
        "--nothing 1"
      })
  void misspeltOptionsAreRefused(String words) {
    assertThrows(UsageException.class, () -> CompareOptions.parse(List.of(words.split(" "))));
  }

  @Test
  void limitOfNothingIsRefused() {
    assertThrows(UsageException.class, () -> CompareOptions.parse(List.of("--memory-limit", "")));
  }

  @Test
  void coldStartHasAProcessOfItsOwnAfterALoad() {
    assertEquals(
        List.of(List.of("get", "keys"), List.of("cold")),
        CompareCommand.processes(List.of("get", "cold", "keys")));
    assertEquals(
        List.of(List.of("load"), List.of("cold")), CompareCommand.processes(List.of("cold")));
    assertEquals(List.of(List.of("get")), CompareCommand.processes(List.of("get")));
  }

  @Test
  void workloadsOfYcsbHaveANameForAll() {
    assertEquals(
        List.of("get", "ycsb_a", "ycsb_b", "ycsb_c", "ycsb_f", "ycsb_d", "ycsb_e"),
        CompareOptions.parse(List.of("--workloads", "get,ycsb")).workloads());
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
    assertEquals(16, options.engines().size());
  }

  @Test
  void limitIsOfBytesOrOfAShareOfTheData() {
    CompareOptions.DataSet some =
        CompareOptions.parse(List.of("--sets", "1024", "--memory-limit", "1200M")).sets().get(0);
    assertEquals(1_200L << 20, some.memoryLimitBytes());
    assertEquals("1024-in-1200M", some.name());
    assertEquals(256, some.cacheMebibytes(256));
    CompareOptions.DataSet quarter =
        CompareOptions.parse(List.of("--sets", "1024", "--memory-limit", "25%")).sets().get(0);
    assertEquals(1_000_000L * (22 + 1024) / 4, quarter.memoryLimitBytes());
    assertEquals("1024-in-25%", quarter.name());
    assertEquals(62, quarter.cacheMebibytes(256));
  }
}
