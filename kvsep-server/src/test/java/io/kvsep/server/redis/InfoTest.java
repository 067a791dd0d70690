package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.testing.ManualClock;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What INFO tells those who watch a server. */
final class InfoTest {
  private static final long NOW = 1_000_000_000_000L;

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory, clock, options -> options);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  private void all(String... linesAndReplies) throws IOException {
    for (int i = 0; i < linesAndReplies.length; i += 2) {
      client.expect(linesAndReplies[i], linesAndReplies[i + 1]);
    }
  }

  private Map<String, String> info(String command) throws IOException {
    Map<String, String> fields = new HashMap<>();
    for (String line : client.ask(command).split("\\^", -1)) {
      int colon = line.indexOf(':');
      if (colon > 0) {
        fields.put(line.substring(0, colon), line.substring(colon + 1));
      }
    }
    return fields;
  }

  @Test
  void fieldsThatClientsCountOnAreThere() throws IOException {
    Map<String, String> info = info("INFO");
    for (String name :
        ("redis_version process_id run_id tcp_port uptime_in_seconds connected_clients maxclients"
                + " blocked_clients used_memory used_memory_human total_system_memory maxmemory"
                + " loading rdb_bgsave_in_progress aof_rewrite_in_progress"
                + " total_connections_received total_commands_processed"
                + " instantaneous_ops_per_sec total_net_input_bytes total_net_output_bytes"
                + " rejected_connections evicted_keys role connected_slaves used_cpu_sys"
                + " used_cpu_user cluster_enabled entries_estimate")
            .split(" ", -1)) {
      assertTrue(info.containsKey(name), name);
    }
    assertEquals("1", info.get("connected_clients"));
    assertEquals("0", info.get("blocked_clients"));
    assertEquals("0", info.get("total_commands_processed"));
    assertEquals("1", info("INFO").get("total_commands_processed"));
    assertTrue(Objects.requireNonNull(info.get("run_id")).matches("[0-9a-f]{40}"));
    double used = Double.parseDouble(Objects.requireNonNull(info.get("used_cpu_user")));
    assertTrue(used > 0, info.get("used_cpu_user"));
  }

  @Test
  void keysAreCountedByDatabase() throws IOException {
    all(
        "INFO keyspace", "$12^# Keyspace^^",
        "MSET a 1 b 2 c 3", "+OK^",
        "PEXPIRE a 1000", ":1^",
        "PEXPIRE b 4000", ":1^",
        "INFO keyspace", "$47^# Keyspace^db0:keys=3,expires=2,avg_ttl=2500^^",
        "SELECT 15", "+OK^",
        "SET a 1", "+OK^",
        "INFO KEYSPACE",
            "$80^# Keyspace^db0:keys=3,expires=2,avg_ttl=2500^"
                + "db15:keys=1,expires=0,avg_ttl=0^^");
    client.expect("MULTI", "+OK^");
    client.expect("INFO keyspace", "+QUEUED^");
    assertTrue(client.ask("EXEC").contains("^db15:keys=1,expires=0,avg_ttl=0^"));
    clock.advance(1000);
    assertEquals("keys=2,expires=1,avg_ttl=3000", info("INFO").get("db0"));
    all("FLUSHALL", "+OK^", "INFO keyspace", "$12^# Keyspace^^");
  }

  @Test
  void sectionsAreChosenByName() throws IOException {
    assertEquals(
        "# CPU # Cluster",
        String.join(
            " ",
            Arrays.stream(client.ask("INFO cluster cpu nosuch").split("\\^", -1))
                .filter(line -> line.startsWith("#"))
                .toList()));
  }

  @Test
  void commandsOfTheLastFullSecondAreTold() {
    long second = 1_000_000_000L;
    CommandRate rate = new CommandRate(-5 * second + 1);
    rate.add(3, -5 * second + 2);
    assertEquals(0, rate.inLastSecond(-4 * second - 1));
    assertEquals(3, rate.inLastSecond(-4 * second));
    rate.add(4, -4 * second + 10);
    rate.add(5, -3 * second);
    // One that looked at the clock before, and comes behind.
    rate.add(6, -3 * second - 1);
    assertEquals(4, rate.inLastSecond(-3 * second + 5));
    assertEquals(11, rate.inLastSecond(-2 * second));
    assertEquals(0, rate.inLastSecond(-second));
    assertEquals(0, rate.inLastSecond(7 * second));
    assertEquals(18, rate.total());
  }

  @Test
  void processorTimeOfLinuxIsRead() {
    ProcessorTime time = ProcessorTime.parse("7 (a) b) R 1 2 3 4 5 6 7 8 9 10 250 75 13 14 20 0 5");

    assertEquals(2.5, time.user());
    assertEquals(0.75, time.system());
    assertEquals("0.750000", ProcessorTime.text(time.system()));
  }

  /** The program of Redis that shows a line each second, where it is installed. */
  @Test
  void redisCliShowsWhatThereIs() throws IOException {
    String program = program("redis-cli");
    assumeTrue(program != null, "there is no redis-cli here");
    all("MSET a 1 b 2 c 3", "+OK^");
    Process stat =
        new ProcessBuilder(program, "-p", "" + redis.port(), "-i", "0.001", "--stat")
            .redirectErrorStream(true)
            .start();
    try (BufferedReader lines = stat.inputReader(StandardCharsets.US_ASCII)) {
      String title = lines.readLine();
      String names = lines.readLine();
      String[] first = Objects.requireNonNull(lines.readLine()).trim().split(" +", -1);
      String[] second = Objects.requireNonNull(lines.readLine()).trim().split(" +", -1);
      assertTrue(title.contains("data"), title);
      assertTrue(names.startsWith("keys"), names);
      assertEquals("3", first[0]);
      assertTrue(first[1].matches("[0-9.]+[KMG]"), first[1]);
      assertEquals("2", first[2]);
      assertEquals("0", first[3]);
      assertEquals("(+1)", second[5]);
      assertEquals("2", second[6]);
      assertEquals(7, second.length, String.join(" ", second));
    } finally {
      stat.destroyForcibly();
    }
  }

  private static @Nullable String program(String name) {
    for (String folder : System.getenv("PATH").split(File.pathSeparator, -1)) {
      File file = new File(folder, name);
      if (file.canExecute()) {
        return file.getPath();
      }
    }
    return null;
  }
}
