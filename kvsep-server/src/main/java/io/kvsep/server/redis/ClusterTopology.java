package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import io.kvsep.server.cluster.HostPort;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A cluster as clients of Redis Cluster ask for it: the leader of a shard is the master of its
 * slots, its other members are replicas. All nodes take all commands, so a client with an old
 * topology is not redirected. Only members with an address for Redis clients are there.
 */
final class ClusterTopology {
  private static final int SLOTS = 16_384;
  private static final int ID_CHARACTERS = 40;

  private final ClusterStatus status;
  private final Map<String, String> addresses;
  private final List<Shard> shards = new ArrayList<>();

  /** A member, with its address for Redis clients. */
  private record Member(String name, String id, String host, int port, long offset) {
    String address() {
      return host + ":" + port + "@" + port;
    }
  }

  /**
   * A range of slots.
   *
   * @param master null without a leader, if this node is no member
   */
  private record Shard(
      int first, int last, boolean isLed, @Nullable Member master, List<Member> replicas) {
    List<Member> members() {
      List<Member> members = new ArrayList<>(replicas);
      if (master != null) {
        members.add(0, master);
      }
      return members;
    }

    boolean hasReplica(String name) {
      return replicas.stream().anyMatch(replica -> replica.name().equals(name));
    }
  }

  ClusterTopology(ClusterNode node, Map<String, String> addresses) {
    this.status = node.status();
    this.addresses = addresses;
    int count = status.groups().size();
    for (int i = 0; i < count; i++) {
      int first = (i * SLOTS + count - 1) / count;
      int last = ((i + 1) * SLOTS + count - 1) / count - 1;
      shards.add(shard(status.groups().get(i), first, last));
    }
  }

  /**
   * Without a leader, the node that is asked stands for it, where commands wait for the next one:
   * clients refuse commands for slots without a master.
   */
  private Shard shard(ClusterStatus.Group group, int first, int last) {
    String leader = group.leader();
    String master = leader == null ? status.node() : leader;
    Member found = null;
    List<Member> replicas = new ArrayList<>();
    for (ClusterStatus.Member member : group.members()) {
      String address = addresses.get(member.node());
      if (address != null) {
        HostPort at = HostPort.parse(address);
        Member known =
            new Member(member.node(), id(member.node()), at.host(), at.port(), offset(member));
        if (member.node().equals(master)) {
          found = known;
        } else {
          replicas.add(known);
        }
      }
    }
    return new Shard(first, last, leader != null && found != null, found, replicas);
  }

  /** Number of entries of the log. Lettuce does not read from a replica that has none. */
  private static long offset(ClusterStatus.Member member) {
    Long index = member.appliedIndex();
    return index == null ? 0 : index + 1;
  }

  /** The offset of this node. */
  static long offset(ClusterStatus status) {
    return status.groups().stream()
        .flatMap(group -> group.members().stream())
        .filter(member -> member.node().equals(status.node()))
        .mapToLong(ClusterTopology::offset)
        .max()
        .orElse(0);
  }

  /** In the form of Redis, the same on all nodes. */
  private String id(String node) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256")
              .digest((status.cluster() + '\n' + node).getBytes(UTF_8));
      return HexFormat.of().formatHex(digest).substring(0, ID_CHARACTERS);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  void myId(Replies out) {
    out.bulk(id(status.node()));
  }

  void slots(Replies out) {
    List<Shard> led = shards.stream().filter(shard -> shard.master() != null).toList();
    out.array(led.size());
    for (Shard shard : led) {
      List<Member> members = shard.members();
      out.array(2 + members.size());
      out.integer(shard.first());
      out.integer(shard.last());
      for (Member member : members) {
        out.array(4);
        out.bulk(member.host());
        out.integer(member.port());
        out.bulk(member.id());
        out.array(0);
      }
    }
  }

  void shards(Replies out) {
    out.array(shards.size());
    for (Shard shard : shards) {
      out.map(2);
      out.bulk("slots");
      out.array(2);
      out.integer(shard.first());
      out.integer(shard.last());
      out.bulk("nodes");
      List<Member> members = shard.members();
      out.array(members.size());
      for (Member member : members) {
        out.map(7);
        out.pair("id", member.id());
        out.bulk("port");
        out.integer(member.port());
        out.pair("ip", member.host());
        out.pair("endpoint", member.host());
        out.pair("role", member.equals(shard.master()) ? "master" : "replica");
        out.bulk("replication-offset");
        out.integer(member.offset());
        out.pair("health", "online");
      }
    }
  }

  /** A line for each member, as Redis has it. One that leads a shard is the master of its slots. */
  void nodes(Replies out) {
    Map<String, Member> members = new LinkedHashMap<>();
    shards.forEach(shard -> shard.members().forEach(member -> members.put(member.name(), member)));
    StringBuilder text = new StringBuilder();
    for (Member member : members.values()) {
      StringBuilder slots = new StringBuilder();
      String master = null;
      for (Shard shard : shards) {
        Member led = shard.master();
        if (led == null) {
          continue;
        }
        if (led.name().equals(member.name())) {
          slots.append(' ').append(shard.first()).append('-').append(shard.last());
        } else if (master == null && shard.hasReplica(member.name())) {
          master = led.id();
        }
      }
      boolean isMaster = !slots.isEmpty() || master == null;
      text.append(member.id()).append(' ').append(member.address()).append(' ');
      text.append(member.name().equals(status.node()) ? "myself," : "");
      text.append(isMaster ? "master" : "slave").append(' ');
      text.append(isMaster ? "-" : master).append(" 0 0 ");
      text.append(term()).append(" connected").append(slots).append('\n');
    }
    out.verbatim(text.toString());
  }

  void info(Replies out) {
    boolean isLed = shards.stream().allMatch(Shard::isLed);
    int led =
        shards.stream()
            .filter(Shard::isLed)
            .mapToInt(shard -> shard.last() - shard.first() + 1)
            .sum();
    long known =
        shards.stream()
            .flatMap(shard -> shard.members().stream())
            .map(Member::name)
            .distinct()
            .count();
    out.verbatim(
        "cluster_state:"
            + (isLed ? "ok" : "fail")
            + "\r\ncluster_slots_assigned:"
            + SLOTS
            + "\r\ncluster_slots_ok:"
            + led
            + "\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:"
            + (SLOTS - led)
            + "\r\ncluster_known_nodes:"
            + known
            + "\r\ncluster_size:"
            + shards.size()
            + "\r\ncluster_current_epoch:"
            + term()
            + "\r\ncluster_my_epoch:"
            + term()
            + "\r\n");
  }

  private long term() {
    return status.groups().stream().mapToLong(ClusterStatus.Group::term).max().orElse(0);
  }
}
