package io.kvsep.server.redis;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.redis.Command.Kind;
import java.time.Duration;
import java.util.List;

/** Commands about the nodes of a cluster. */
final class ClusterCommands {
  /** WAIT without a limit ends after this time, because it occupies a thread. */
  private static final long WAIT_MILLIS_MAX = 60_000;

  private ClusterCommands() {}

  static List<Command> all() {
    return List.of(
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

  private static void readStale(Call call, boolean stale) {
    if (call.server.node() == null) {
      throw new CommandError("ERR This instance has cluster support disabled");
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
