package io.kvsep.server.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvsep.server.cluster.HostPort;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The commands for a cluster, which ask one of its nodes over HTTP. */
@Command(
    name = "cluster",
    description = "Show and change a cluster of running servers, or try one out.",
    synopsisSubcommandLabel = "COMMAND",
    commandListHeading = "%nCommands:%n",
    footer = {
      "",
      "All but demo ask the node at --url, which may be any, and can be repeated after",
      "a failure. kvsep serve --cluster runs a node. docs/guide/cluster.md tells more."
    })
final class ClusterCommand {
  /** A node that is added has to copy everything first. */
  private static final Duration TIME = Duration.ofMinutes(10);

  private ClusterCommand() {}

  static CommandLine line(Streams streams) {
    CommandLine line = new CommandLine(new ClusterCommand());
    line.addSubcommand(new ClusterStatusCommand(streams));
    line.addSubcommand(new Add(streams));
    line.addSubcommand(new Remove(streams));
    line.addSubcommand(new Transfer(streams));
    line.addSubcommand(new Snapshot(streams));
    line.addSubcommand(new ClusterBackupCommand(streams));
    line.addSubcommand(new ClusterRestoreCommand(streams));
    line.addSubcommand(new ClusterDemoCommand(streams));
    line.getSubcommands()
        .values()
        .forEach(command -> command.addMixin("common", new CommonOptions()));
    return line;
  }

  /** Returns when the node has caught up. */
  static void add(ServerConnection server, String node, String address)
      throws IOException, InterruptedException {
    server.post(
        ServedCluster.PATH + "/members",
        new JsonObject().put("node", node).put("address", address),
        TIME);
  }

  @Command(
      name = "add",
      description = "Make a node a member, and wait until it has everything.",
      footer = {
        "",
        "Start the node first, with kvsep serve --cluster --join. To add a member again",
        "does nothing."
      })
  static final class Add implements Callable<Integer> {
    private final Streams streams;

    @Mixin private final ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "NODE", description = "The name of the node.")
    private String node = "";

    @Parameters(
        index = "1",
        paramLabel = "ADDRESS",
        description = "Where the other nodes reach it, such as 10.0.0.4:7101.")
    private String address = "";

    Add(Streams streams) {
      this.streams = streams;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      try {
        HostPort.parse(address);
      } catch (IllegalArgumentException e) {
        throw CommandFailure.misused(String.valueOf(e.getMessage()));
      }
      add(server.connect(), node, address);
      streams.output().line(node + " is a member, at " + address);
      return Kvsep.DONE;
    }
  }

  @Command(
      name = "remove",
      description = "End the membership of a node, which need not run.",
      footer = {"", "To remove a node that is no member does nothing."})
  static final class Remove implements Callable<Integer> {
    private final Streams streams;

    @Mixin private final ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "NODE", description = "The name of the node.")
    private String node = "";

    Remove(Streams streams) {
      this.streams = streams;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      String path = ServedCluster.PATH + "/members/" + ServerConnection.encoded(node);
      server.connect().send("DELETE", path, BodyPublishers.noBody(), TIME);
      streams.output().line(node + " is no member");
      return Kvsep.DONE;
    }
  }

  @Command(
      name = "transfer",
      description = "Make a member the leader, as before maintenance of the present one.")
  static final class Transfer implements Callable<Integer> {
    private final Streams streams;

    @Mixin private final ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "NODE", description = "The name of the member.")
    private String node = "";

    @Option(
        names = "--shard",
        paramLabel = "N",
        description = "Only of shard N, from 0 (default: of all).")
    private @Nullable Integer shard;

    Transfer(Streams streams) {
      this.streams = streams;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      JsonObject wanted = new JsonObject().put("node", node);
      if (shard != null) {
        wanted.put("shard", shard);
      }
      server.connect().post(ServedCluster.PATH + "/leader", wanted, TIME);
      streams.output().line(node + " leads" + (shard == null ? "" : " shard " + shard));
      return Kvsep.DONE;
    }
  }

  @Command(
      name = "snapshot",
      description = "Let the node make a checkpoint of its store and shorten its log now.")
  static final class Snapshot implements Callable<Integer> {
    private final Streams streams;

    @Mixin private final ServerOptions server = new ServerOptions();

    Snapshot(Streams streams) {
      this.streams = streams;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      String answer = server.connect().post(ServedCluster.PATH + "/snapshot", null, TIME);
      List<String> indices = indices(answer);
      for (int shard = 0; shard < indices.size(); shard++) {
        String of = indices.size() == 1 ? "" : " of shard " + shard;
        streams.output().line("a snapshot" + of + " has the log up to " + indices.get(shard));
      }
      return Kvsep.DONE;
    }

    /** Of each shard, from 0. */
    private static List<String> indices(String answer) throws IOException {
      List<String> indices = new ArrayList<>();
      try (JsonParser parser = new JsonFactory().createParser(answer)) {
        while (parser.nextToken() != null) {
          if (parser.currentToken() == JsonToken.FIELD_NAME
              && parser.currentName().equals("index")) {
            indices.add(Amounts.count(parser.nextLongValue(-1)));
          }
        }
      }
      if (indices.isEmpty()) {
        throw CommandFailure.failed("the answer has no index: " + answer);
      }
      return indices;
    }
  }
}
