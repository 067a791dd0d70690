package io.kvsep.cluster;

import io.kvsep.KvOptions;
import io.kvsep.KvResources;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of a node. Immutable. {@link Builder#build} checks all of them and reports every problem
 * in one message.
 */
public final class ClusterOptions {
  private static final long MIB = 1 << 20;

  private final Builder values;

  private ClusterOptions(Builder values) {
    this.values = values;
  }

  /**
   * Files in PEM format, for connections between nodes that are encrypted and authenticated on both
   * sides.
   *
   * @param certificateChain of this node
   * @param privateKey of this node, PKCS #8
   * @param trusted certificates of the authorities that other nodes must have theirs from
   */
  public record Tls(Path certificateChain, Path privateKey, Path trusted) {
    /** Checks that nothing is missing. */
    public Tls {
      Objects.requireNonNull(certificateChain, "certificateChain");
      Objects.requireNonNull(privateKey, "privateKey");
      Objects.requireNonNull(trusted, "trusted");
    }
  }

  /**
   * Starts with the three things that every node needs.
   *
   * @param nodeId the name of this node, unique in the group and the same at every start
   * @param peers addresses, {@code host:port} with an IPv6 address in brackets, of all nodes of the
   *     group by their names, this node included. They count at the first start; later the group
   *     knows its members
   * @param directory of this node's log and store
   * @return a builder with every default
   */
  public static Builder builder(String nodeId, Map<String, String> peers, Path directory) {
    return new Builder(nodeId, peers, directory);
  }

  String nodeId() {
    return values.nodeId;
  }

  Map<String, String> peers() {
    return values.peers;
  }

  /** Host and port of this node. */
  URI address() {
    String text = Objects.requireNonNull(values.peers.get(values.nodeId), "address of this node");
    return Objects.requireNonNull(parse(text), text);
  }

  /** Host and port of an address, as gRPC reads them; null if it has another form. */
  static @Nullable URI parse(String address) {
    try {
      URI parsed = new URI("//" + address);
      boolean isWhole = address.equals(parsed.getHost() + ":" + parsed.getPort());
      return isWhole && parsed.getPort() > 0 && parsed.getPort() <= 65_535 ? parsed : null;
    } catch (URISyntaxException e) {
      return null;
    }
  }

  /** Throws unless a node of this name may have that address. */
  void requireAddress(String id, String address) {
    List<String> problems = new ArrayList<>();
    values.checkAddress(problems, id, address);
    if (!problems.isEmpty()) {
      throw new IllegalArgumentException(problems.get(0));
    }
  }

  Path directory() {
    return values.directory;
  }

  String group() {
    return values.group;
  }

  boolean isJoining() {
    return values.joining;
  }

  @Nullable Tls tls() {
    return values.tls;
  }

  Duration electionTimeoutMin() {
    return values.electionTimeoutMin;
  }

  Duration electionTimeoutMax() {
    return values.electionTimeoutMax;
  }

  Duration requestTimeout() {
    return values.requestTimeout;
  }

  long requestBytesMax() {
    return values.requestBytesMax;
  }

  long snapshotLogBytes() {
    return values.snapshotLogBytes;
  }

  long preservedEntries() {
    return values.preservedEntries;
  }

  Clock clock() {
    return values.clock;
  }

  KvOptions.Builder storeOptions() {
    KvOptions.Builder builder = KvOptions.builder();
    values.store.accept(builder);
    return builder;
  }

  /** The same with stores that share memory and threads. */
  ClusterOptions withResources(KvResources resources) {
    Builder copy = values.copy();
    copy.store = values.store.andThen(builder -> builder.resources(resources));
    return new ClusterOptions(copy);
  }

  /** Builds {@link ClusterOptions}. */
  public static final class Builder {
    private final String nodeId;
    private final Map<String, String> peers;
    private final Path directory;
    private String group = "kvsep";
    private boolean joining;
    private boolean insecure;
    private @Nullable Tls tls;
    private Duration electionTimeoutMin = Duration.ofMillis(800);
    private Duration electionTimeoutMax = Duration.ofMillis(1_200);
    private Duration requestTimeout = Duration.ofSeconds(15);
    private long requestBytesMax = 8 * MIB;
    private long snapshotLogBytes = 256 * MIB;
    private long preservedEntries = 10_000;
    private Clock clock = Clock.systemUTC();
    private Consumer<KvOptions.Builder> store = options -> {};

    private Builder(String nodeId, Map<String, String> peers, Path directory) {
      this.nodeId = Objects.requireNonNull(nodeId, "nodeId");
      this.peers = Collections.unmodifiableMap(new LinkedHashMap<>(peers));
      this.directory = Objects.requireNonNull(directory, "directory");
    }

    /**
     * The name of the group; nodes of other groups are refused. Default {@code kvsep}.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder group(String value) {
      group = Objects.requireNonNull(value, "group");
      return this;
    }

    /**
     * Whether this node waits at its first start until {@link ReplicatedStore#add} was called on a
     * member; its directory remembers that. Default false: the node is a member from the beginning,
     * and all first members are started with the same {@code peers}.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder joining(boolean value) {
      joining = value;
      return this;
    }

    /**
     * Allows addresses other than loopback without {@link #tls}: every host that can connect then
     * reads and writes all data. Default false.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder insecure(boolean value) {
      insecure = value;
      return this;
    }

    /**
     * Certificates for the connections between nodes. Default null: none, which only loopback
     * addresses may do.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder tls(@Nullable Tls value) {
      tls = value;
      return this;
    }

    /**
     * How long a follower hears nothing from the leader before it starts an election: a random time
     * between both. Shorter times replace a dead leader sooner, and also one that was only slow.
     * Default 0.8 to 1.2 seconds, at least 50 ms.
     *
     * @param min the shortest
     * @param max the longest, longer than {@code min}
     * @return this builder
     */
    public Builder electionTimeout(Duration min, Duration max) {
      electionTimeoutMin = Objects.requireNonNull(min, "min");
      electionTimeoutMax = Objects.requireNonNull(max, "max");
      return this;
    }

    /**
     * How long a call is repeated before it fails with {@link ClusterException}. Default 15
     * seconds.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder requestTimeout(Duration value) {
      requestTimeout = Objects.requireNonNull(value, "requestTimeout");
      return this;
    }

    /**
     * The longest request, such as a batch with its keys and values. Every node keeps a buffer a
     * little longer than this for each group, and under load up to 8 times as much in the heap, and
     * 32 MiB or two requests for each follower. Default 8 MiB, from 1 MiB to 48 MiB.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder requestBytesMax(long value) {
      requestBytesMax = value;
      return this;
    }

    /**
     * Bytes of the log after which a node takes a snapshot, which lets it delete what lies before.
     * It also takes one after 250,000 entries. Default 256 MiB.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder snapshotLogBytes(long value) {
      snapshotLogBytes = value;
      return this;
    }

    /**
     * Entries of the log that are kept before a snapshot, so that a node that was away for a short
     * time gets entries and not the whole store. Default 10,000.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder preservedEntries(long value) {
      preservedEntries = value;
      return this;
    }

    /**
     * The clock from which a leader stamps entries, and by which readers see times to live. Default
     * the system's. The clocks of the nodes should agree to within the precision that times to live
     * need.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder clock(Clock value) {
      clock = Objects.requireNonNull(value, "clock");
      return this;
    }

    /**
     * Sets options of the store, such as its memory. Called at each opening. Durability, clock and
     * whether the store is created are decided by the cluster.
     *
     * @param value receives a builder with every default
     * @return this builder
     */
    public Builder store(Consumer<KvOptions.Builder> value) {
      store = Objects.requireNonNull(value, "store");
      return this;
    }

    /**
     * Builds the options.
     *
     * @return the options
     * @throws IllegalArgumentException if any is invalid; the message names every problem
     */
    public ClusterOptions build() {
      List<String> problems = new ArrayList<>();
      if (!peers.containsKey(nodeId)) {
        problems.add("peers must contain this node, " + nodeId);
      }
      peers.forEach((id, address) -> checkAddress(problems, id, address));
      if (group.isEmpty()) {
        problems.add("group must not be empty");
      }
      if (electionTimeoutMin.toMillis() < 50
          || electionTimeoutMax.compareTo(electionTimeoutMin) <= 0) {
        problems.add("electionTimeout must be at least 50 ms, and the longest longer");
      }
      if (requestTimeout.isNegative() || requestTimeout.isZero()) {
        problems.add("requestTimeout must be positive");
      }
      check(problems, "requestBytesMax", requestBytesMax, MIB, 48 * MIB);
      check(problems, "snapshotLogBytes", snapshotLogBytes, 1, Long.MAX_VALUE);
      check(problems, "preservedEntries", preservedEntries, 0, Long.MAX_VALUE);
      if (!problems.isEmpty()) {
        throw new IllegalArgumentException("invalid options: " + String.join("; ", problems));
      }
      return new ClusterOptions(copy());
    }

    private Builder copy() {
      Builder copy = new Builder(nodeId, peers, directory);
      copy.group = group;
      copy.joining = joining;
      copy.insecure = insecure;
      copy.tls = tls;
      copy.electionTimeoutMin = electionTimeoutMin;
      copy.electionTimeoutMax = electionTimeoutMax;
      copy.requestTimeout = requestTimeout;
      copy.requestBytesMax = requestBytesMax;
      copy.snapshotLogBytes = snapshotLogBytes;
      copy.preservedEntries = preservedEntries;
      copy.clock = clock;
      copy.store = store;
      return copy;
    }

    private void checkAddress(List<String> problems, String id, String address) {
      URI parsed = id.isEmpty() ? null : parse(address);
      if (parsed == null) {
        problems.add("the address of " + id + " must be host:port, is " + address);
      } else if (tls == null && !insecure && !isLoopback(parsed.getHost())) {
        problems.add(
            "the address of " + id + " is not loopback, which needs tls or insecure: " + address);
      }
    }

    private static boolean isLoopback(String host) {
      try {
        return InetAddress.getByName(host).isLoopbackAddress();
      } catch (UnknownHostException e) {
        return false;
      }
    }

    private static void check(List<String> problems, String name, long value, long min, long max) {
      if (value < min || value > max) {
        problems.add(name + " must be from " + min + " to " + max + ", is " + value);
      }
    }
  }
}
