package io.kvsep.server.redis;

import io.kvsep.StoreStats;
import io.kvsep.server.cluster.ClusterNode;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The sections of INFO. Fields without a meaning here are included only if clients need them. */
final class ServerInfo {
  private final Call call;
  private final ServerState server;
  private final StoreStats stats;
  private final StringBuilder text = new StringBuilder();

  private ServerInfo(Call call) {
    this.call = call;
    this.server = call.server;
    this.stats = server.store().stats();
  }

  /** Returns the sections of the given names, all of them if none is given. */
  static String text(Call call, List<String> wanted) {
    boolean all =
        wanted.isEmpty()
            || wanted.contains("ALL")
            || wanted.contains("DEFAULT")
            || wanted.contains("EVERYTHING");
    ServerInfo info = new ServerInfo(call);
    info.sections()
        .forEach(
            (name, section) -> {
              if (all || wanted.contains(name.toUpperCase(Locale.ROOT))) {
                info.text.append(info.text.isEmpty() ? "" : "\r\n");
                info.text.append("# ").append(name).append("\r\n");
                section.run();
              }
            });
    return info.text.toString();
  }

  private Map<String, Runnable> sections() {
    Map<String, Runnable> sections = new LinkedHashMap<>();
    sections.put("Server", this::server);
    sections.put("Clients", this::clients);
    sections.put("Memory", this::memory);
    sections.put("Persistence", this::persistence);
    sections.put("Stats", this::stats);
    sections.put("Replication", this::replication);
    sections.put("CPU", this::processor);
    sections.put("Cluster", this::cluster);
    sections.put("Keyspace", this::keyspace);
    sections.put("Kvsep", this::store);
    return sections;
  }

  private void line(String name, Object value) {
    text.append(name).append(':').append(value).append("\r\n");
  }

  private void server() {
    long uptime = Math.max(0, (call.nowMillis() - server.startedAtMillis()) / 1000);
    line("redis_version", ServerCommands.REDIS_VERSION);
    line("redis_mode", server.isClustered() ? "cluster" : "standalone");
    line("server_name", "kvsep");
    line("os", System.getProperty("os.name") + " " + System.getProperty("os.arch"));
    line("arch_bits", 64);
    line("process_id", ProcessHandle.current().pid());
    line("run_id", server.runId());
    line("tcp_port", server.port());
    line("server_time_usec", call.nowMillis() * 1000);
    line("uptime_in_seconds", uptime);
    line("uptime_in_days", uptime / 86_400);
  }

  private void clients() {
    line("connected_clients", server.connections());
    line("maxclients", server.options().limits().connections());
    line("blocked_clients", 0);
    line("tracking_clients", 0);
  }

  private void memory() {
    Runtime runtime = Runtime.getRuntime();
    long heap = runtime.totalMemory() - runtime.freeMemory();
    long used = heap + stats.memoryBytes().values().stream().mapToLong(Long::longValue).sum();
    line("used_memory", used);
    line("used_memory_human", String.format(Locale.ROOT, "%.2fM", used / 1048576.0));
    if (ManagementFactory.getOperatingSystemMXBean()
        instanceof com.sun.management.OperatingSystemMXBean system) {
      line("total_system_memory", system.getTotalMemorySize());
    }
    line("maxmemory", 0);
    line("maxmemory_policy", "noeviction");
  }

  private void persistence() {
    line("loading", 0);
    line("async_loading", 0);
    line("rdb_bgsave_in_progress", 0);
    line("aof_enabled", 1);
    line("aof_rewrite_in_progress", 0);
    line("aof_last_write_status", stats.failed() ? "err" : "ok");
  }

  private void stats() {
    line("total_connections_received", server.connectionsReceived());
    line("total_commands_processed", server.rate().total());
    line("instantaneous_ops_per_sec", server.rate().inLastSecond(System.nanoTime()));
    line("total_net_input_bytes", server.bytesReceived().sum());
    line("total_net_output_bytes", server.bytesSent().sum());
    line("rejected_connections", server.connectionsRefused());
    line("evicted_keys", 0);
  }

  private void replication() {
    line("role", "master");
    line("connected_slaves", 0);
    ClusterNode node = server.node();
    line("master_repl_offset", node == null ? 0 : ClusterTopology.offset(node.status()));
  }

  private void cluster() {
    line("cluster_enabled", server.isClustered() ? 1 : 0);
    ClusterNode node = server.node();
    if (node != null) {
      line("kvsep_cluster", node.cluster());
      line("kvsep_node", node.nodeId());
      line("kvsep_shards", node.shards());
      String leaders =
          IntStream.range(0, node.shards())
              .mapToObj(shard -> String.valueOf(node.leader(shard)))
              .collect(Collectors.joining(","));
      line("kvsep_leader", leaders);
    }
  }

  private void processor() {
    ProcessorTime time = ProcessorTime.now();
    line("used_cpu_sys", ProcessorTime.text(time.system()));
    line("used_cpu_user", ProcessorTime.text(time.user()));
    line("used_cpu_sys_children", ProcessorTime.text(0));
    line("used_cpu_user_children", ProcessorTime.text(0));
  }

  private void keyspace() {
    long left = stats.entriesEstimate();
    for (int i = 0; i < Entries.DATABASES; i++) {
      if (server.databases().exists(i)) {
        KeySurvey survey = server.surveys().latest(i, left);
        left -= survey.keys();
        if (survey.keys() > 0) {
          line(
              "db" + i,
              "keys="
                  + survey.keys()
                  + ",expires="
                  + survey.expiring()
                  + ",avg_ttl="
                  + survey.meanMillisToLive());
        }
      }
    }
  }

  private void store() {
    line("entries_estimate", stats.entriesEstimate());
    line("log_bytes", stats.logBytes());
    line("log_live_bytes", stats.logLiveBytes());
    line("table_bytes", stats.tableBytes());
    line("commits", stats.commits());
    line("syncs", stats.syncs());
  }
}
