package io.kvsep.server.redis;

import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/** State shared by all connections of a server. Thread safe. */
final class ServerState {
  private final KvStore store;
  private final @Nullable ClusterNode node;
  private final RedisOptions options;
  private final Databases databases;
  private final ScanCursors cursors = new ScanCursors();
  private final RequestBudget budget;
  private final UnsentReplies unsent;
  private final CommandTable commands = new CommandTable();
  private final CommandMeter meter = new CommandMeter();
  private final ConcurrentMap<Long, Session> sessions = new ConcurrentHashMap<>();
  private final AtomicLong lastId = new AtomicLong();
  private final LongAdder connectionsReceived = new LongAdder();
  private final LongAdder connectionsRefused = new LongAdder();
  private final CommandRate rate = new CommandRate(System.nanoTime());
  private final LongAdder bytesReceived = new LongAdder();
  private final LongAdder bytesSent = new LongAdder();
  private final KeySurveys surveys;
  private final String runId = newRunId();
  private final long startedAtMillis;
  private final ReentrantReadWriteLock commits = new ReentrantReadWriteLock();
  private final AtomicLong underWay = new AtomicLong();
  private final ExecutorService shardWriters =
      Executors.newCachedThreadPool(work -> daemon(work, "kvsep-redis-shard"));
  private volatile int port;

  ServerState(KvStore store, RedisOptions options) {
    this(store, null, options);
  }

  /**
   * @param node null on a server of one store
   */
  ServerState(KvStore store, @Nullable ClusterNode node, RedisOptions options) {
    this.store = store;
    this.node = node;
    this.options = options;
    this.databases = new Databases(store);
    this.surveys =
        new KeySurveys(
            databases.present(), options.clock(), System::nanoTime, ServerState::inBackground);
    this.budget = new RequestBudget(options.limits().requestBytes());
    this.unsent = new UnsentReplies(options.limits().requestBytes());
    this.startedAtMillis = options.clock().millis();
  }

  KvStore store() {
    return store;
  }

  /** The node whose store this is, null outside of a cluster. */
  @Nullable ClusterNode node() {
    return node;
  }

  int shards() {
    return node == null ? 1 : node.shards();
  }

  /** Threads that commit writes of several shards at the same time. */
  ExecutorService shardWriters() {
    return shardWriters;
  }

  /** Whether clients of Redis Cluster find the other nodes. */
  boolean isClustered() {
    return node != null && !options.peers().isEmpty();
  }

  /** Whether a failure means that the cluster did not answer. */
  boolean isUnavailable(Throwable failure) {
    return node != null && node.unavailable(failure) != null;
  }

  /** The reply to a command that failed. */
  String reply(Throwable failure) {
    String unavailable = node == null ? null : node.unavailable(failure);
    String crossShard = node == null ? null : node.crossShard(failure);
    return unavailable != null
        ? "CLUSTERDOWN " + unavailable
        : crossShard != null ? "CROSSSLOT " + crossShard : StoreErrors.reply(failure);
  }

  RedisOptions options() {
    return options;
  }

  Databases databases() {
    return databases;
  }

  ScanCursors cursors() {
    return cursors;
  }

  RequestBudget budget() {
    return budget;
  }

  UnsentReplies unsent() {
    return unsent;
  }

  CommandTable commands() {
    return commands;
  }

  CommandMeter meter() {
    return meter;
  }

  /** Read lock: held during a commit. Write lock: held by a commit that met too many conflicts. */
  ReentrantReadWriteLock commits() {
    return commits;
  }

  /** Number of commands read and not answered yet. */
  AtomicLong underWay() {
    return underWay;
  }

  /**
   * Whether a failure, which wrote nothing, may be caused by a cached keyspace that another user of
   * the store has dropped. If so, drops the cached keyspaces; a retry may succeed.
   */
  boolean mayGoWellAgain(Throwable failure) {
    boolean mayBeStale = failure instanceof IllegalStateException;
    if (mayBeStale) {
      databases.forget();
    }
    return mayBeStale;
  }

  long nextId() {
    return lastId.incrementAndGet();
  }

  void refused() {
    connectionsRefused.increment();
  }

  void add(Session session) {
    sessions.put(session.id, session);
    connectionsReceived.increment();
  }

  void remove(Session session) {
    sessions.remove(session.id);
  }

  int connections() {
    return sessions.size();
  }

  Collection<Session> sessions() {
    List<Session> sorted = new ArrayList<>(sessions.values());
    sorted.sort(Comparator.comparingLong(session -> session.id));
    return sorted;
  }

  long connectionsReceived() {
    return connectionsReceived.sum();
  }

  long connectionsRefused() {
    return connectionsRefused.sum();
  }

  CommandRate rate() {
    return rate;
  }

  LongAdder bytesReceived() {
    return bytesReceived;
  }

  LongAdder bytesSent() {
    return bytesSent;
  }

  KeySurveys surveys() {
    return surveys;
  }

  /** Random id of this server until it is closed, in the form of Redis. */
  String runId() {
    return runId;
  }

  private static void inBackground(Runnable work) {
    daemon(work, "kvsep-redis-survey").start();
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  private static String newRunId() {
    byte[] bytes = new byte[20];
    ThreadLocalRandom.current().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  long startedAtMillis() {
    return startedAtMillis;
  }

  int port() {
    return port;
  }

  void listeningOn(int actual) {
    port = actual;
  }
}
