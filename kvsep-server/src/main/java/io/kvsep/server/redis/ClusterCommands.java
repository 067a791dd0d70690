package io.kvsep.server.redis;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.redis.Command.Kind;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Commands about the nodes of a cluster. */
final class ClusterCommands {
  /** WAIT without a limit ends after this time, because it occupies a thread. */
  private static final long WAIT_MILLIS_MAX = 60_000;

  private ClusterCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("cluster", -2, Kind.SESSION, ClusterCommands::cluster, "About nodes and slots")
            .subcommands(
                Map.of("HELP", 2, "INFO", 2, "MYID", 2, "NODES", 2, "SHARDS", 2, "SLOTS", 2)),
        Command.of(
                "readonly",
                1,
                Kind.SESSION,
                call -> readStale(call, true),
                "Lets reads see what the node has")
            .asQuick(),
        Command.of(
                "readwrite",
                1,
                Kind.SESSION,
                call -> readStale(call, false),
                "Lets reads see the newest state")
            .asQuick(),
        Command.of(
            "wait",
            3,
            Kind.LONG_READ,
            ClusterCommands::await,
            "Waits until nodes have the last write"));
  }

  private static void cluster(Call call) {
    String word = call.word(1);
    if (word.equals("HELP")) {
      help(call);
      return;
    }
    ClusterNode node = call.server.node();
    Map<String, String> peers = call.server.options().peers();
    if (node == null || peers.isEmpty()) {
      throw disabled();
    }
    ClusterTopology topology = new ClusterTopology(node, peers);
    switch (word) {
      case "INFO" -> topology.info(call.out);
      case "MYID" -> topology.myId(call.out);
      case "NODES" -> topology.nodes(call.out);
      case "SHARDS" -> topology.shards(call.out);
      case "SLOTS" -> topology.slots(call.out);
      default -> throw CommandError.unknownSubcommand(call.name, call.bytes(1));
    }
  }

  private static void help(Call call) {
    ServerCommands.help(
        call,
        "INFO",
        "Tells whether all slots have a master.",
        "MYID",
        "Gives the id of this node.",
        "NODES",
        "Lists the nodes with their slots.",
        "SHARDS",
        "Lists ranges of slots with their nodes.",
        "SLOTS",
        "Lists ranges of slots with the addresses of their nodes.");
  }

  private static CommandError disabled() {
    return new CommandError("ERR This instance has cluster support disabled");
  }

  private static void readStale(Call call, boolean stale) {
    if (call.server.node() == null) {
      throw disabled();
    }
    call.session.readsStale = stale;
    call.out.ok();
  }

  private static void await(Call call) {
    long wanted = call.integer(1);
    long millis = call.integer(2, "ERR timeout is not an integer or out of range");
    if (millis < 0) {
      throw new CommandError("ERR timeout is negative");
    }
    ClusterNode node = call.server.node();
    long limit = millis == 0 ? WAIT_MILLIS_MAX : Math.min(millis, WAIT_MILLIS_MAX);
    call.out.integer(
        node == null
            ? 0
            : node.awaitCopies(
                call.session.lastWrite,
                (int) Math.min(Integer.MAX_VALUE, wanted),
                Duration.ofMillis(limit)));
  }
}
