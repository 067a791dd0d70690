package io.kvsep.server.cli;

import io.kvsep.server.cluster.ClusterStatus;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "status",
    description = "Show the members of each shard: roles, terms, and how far behind each is.",
    footer = {
      "",
      "A dash stands for what the node that was asked does not know. The lag is in",
      "entries of the log. Exit code 1 when a shard has no leader."
    })
final class ClusterStatusCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final ServerOptions server = new ServerOptions();

  @Option(names = "--json", description = "Print the answer of the server, one JSON object.")
  private boolean json;

  ClusterStatusCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    ServedCluster served = ServedCluster.of(server.connect());
    ClusterStatus status = served.status();
    if (json) {
      streams.output().line(served.text().strip());
    } else {
      show(status);
    }
    List<String> without =
        status.groups().stream()
            .filter(group -> group.leader() == null)
            .map(group -> String.valueOf(group.shard()))
            .toList();
    if (!without.isEmpty()) {
      throw CommandFailure.failed(
          (without.size() == 1 ? "no leader in shard " : "no leader in shards ")
              + String.join(", ", without));
    }
    return Kvsep.DONE;
  }

  private void show(ClusterStatus status) throws IOException {
    StandardOutput output = streams.output();
    output.line("cluster " + status.cluster() + ", as node " + status.node() + " knows it");
    output.line("");
    output.line(row("shard", "node", "address", "role", "term", "committed", "applied", "lag"));
    for (ClusterStatus.Group group : status.groups()) {
      for (ClusterStatus.Member member : group.members()) {
        output.line(
            row(
                group.shard(),
                member.node(),
                member.address(),
                orDash(member.role()).toLowerCase(Locale.ROOT),
                group.term(),
                Amounts.count(group.commitIndex()),
                count(member.appliedIndex()),
                count(lag(group, member))));
      }
    }
  }

  private static @Nullable Long lag(ClusterStatus.Group group, ClusterStatus.Member member) {
    Long applied = member.appliedIndex();
    return applied == null ? null : Long.valueOf(Math.max(0, group.commitIndex() - applied));
  }

  private static String row(Object... cells) {
    return String.format(Locale.ROOT, "%5s  %-12s  %-21s  %-9s  %5s  %11s  %11s  %7s", cells);
  }

  private static String orDash(@Nullable String text) {
    return Objects.requireNonNullElse(text, "-");
  }

  private static String count(@Nullable Long number) {
    return number == null ? "-" : Amounts.count(number);
  }
}
