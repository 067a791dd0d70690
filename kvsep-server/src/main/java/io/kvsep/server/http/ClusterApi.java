package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import io.kvsep.server.cluster.HostPort;
import io.kvsep.server.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** {@code /v1/cluster…}: members, leader and snapshots of a cluster. */
final class ClusterApi {
  private final @Nullable ClusterNode node;

  /**
   * @param node null on a server of one store, which answers 404
   */
  ClusterApi(@Nullable ClusterNode node) {
    this.node = node;
  }

  HttpResponse status(Exchange exchange) {
    exchange.requireNoQuery();
    return Answers.json(json(node().status()));
  }

  HttpResponse add(Exchange exchange) {
    Document document = Document.one(exchange);
    document.allow(Set.of("node", "address"));
    String address = document.requiredText("address");
    try {
      HostPort.parse(address);
    } catch (IllegalArgumentException e) {
      throw Problem.malformed(String.valueOf(e.getMessage()));
    }
    node().add(name(document), address);
    return Answers.json(new JsonObject());
  }

  HttpResponse remove(Exchange exchange) {
    exchange.requireNoQuery();
    node().remove(Percent.text("the name of the node", exchange.values().get(0)));
    return Answers.json(new JsonObject());
  }

  HttpResponse transferLeadership(Exchange exchange) {
    Document document = Document.one(exchange);
    document.allow(Set.of("node", "shard"));
    String name = name(document);
    Long shard = document.whole("shard");
    int shards = node().shards();
    if (shard != null && (shard < 0 || shard >= shards)) {
      throw Problem.malformed("shard must be from 0 to " + (shards - 1));
    }
    boolean isMember =
        node().status().groups().stream()
            .flatMap(group -> group.members().stream())
            .anyMatch(member -> member.node().equals(name));
    if (!isMember) {
      throw Problem.of(HttpStatus.NOT_FOUND, "no-such-member", "no such member: " + name);
    }
    if (shard == null) {
      IntStream.range(0, shards).forEach(each -> node().transferLeadership(name, each));
    } else {
      node().transferLeadership(name, shard.intValue());
    }
    return Answers.json(new JsonObject());
  }

  HttpResponse takeSnapshot(Exchange exchange) {
    exchange.requireNoQuery();
    if (node().shards() == 1) {
      return Answers.json(new JsonObject().put("index", node().takeSnapshot(0)));
    }
    List<JsonObject> groups = new ArrayList<>();
    for (int shard = 0; shard < node().shards(); shard++) {
      groups.add(new JsonObject().put("shard", shard).put("index", node().takeSnapshot(shard)));
    }
    return Answers.json(new JsonObject().put("groups", groups));
  }

  private static String name(Document document) {
    String name = document.requiredText("node");
    if (name.isEmpty()) {
      throw Problem.malformed("the name of the node is empty");
    }
    return name;
  }

  private ClusterNode node() {
    ClusterNode present = node;
    if (present == null) {
      throw Problem.of(HttpStatus.NOT_FOUND, "no-cluster", "the server is no node of a cluster");
    }
    return present;
  }

  static JsonObject json(ClusterStatus status) {
    List<JsonObject> groups = new ArrayList<>();
    for (ClusterStatus.Group group : status.groups()) {
      List<JsonObject> members = new ArrayList<>();
      for (ClusterStatus.Member member : group.members()) {
        Long applied = member.appliedIndex();
        JsonObject json =
            new JsonObject()
                .put("node", member.node())
                .put("address", member.address())
                .putNullable("role", member.role());
        members.add(
            applied == null
                ? json.putNullable("appliedIndex", null).putNullable("lag", null)
                : json.put("appliedIndex", applied)
                    .put("lag", Math.max(0, group.commitIndex() - applied)));
      }
      groups.add(
          new JsonObject()
              .put("shard", group.shard())
              .putNullable("leader", group.leader())
              .put("term", group.term())
              .put("commitIndex", group.commitIndex())
              .put("members", members));
    }
    return new JsonObject()
        .put("cluster", status.cluster())
        .put("node", status.node())
        .put("groups", groups);
  }
}
