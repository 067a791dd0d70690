package io.kvsep.cluster;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.client.RaftClientRpc;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.AlreadyClosedException;
import org.apache.ratis.protocol.exceptions.RaftException;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.util.JavaUtils;

/**
 * Calls the server of this process without a connection, and others over the network. A connection
 * would cost six hand-offs between threads and two copies of each entry. Thread safe.
 */
final class InProcessRpc implements RaftClientRpc {
  private final RaftClientRpc network;
  private final RaftServer server;
  private final long timeoutMillis;
  private final Set<CompletableFuture<RaftClientReply>> waiting = ConcurrentHashMap.newKeySet();

  /** The thread that has an answer applies entries, and may hold locks of the server. */
  private final ExecutorService answers =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "cluster-answer");
            thread.setDaemon(true);
            return thread;
          });

  private volatile boolean closed;

  /**
   * @param network is closed with this
   */
  InProcessRpc(RaftClientRpc network, RaftServer server, Duration timeout) {
    this.network = network;
    this.server = server;
    timeoutMillis = timeout.toMillis();
  }

  @Override
  @SuppressWarnings("CollectionUndefinedEquality") // each future is equal to itself alone
  public CompletableFuture<RaftClientReply> sendRequestAsync(RaftClientRequest request) {
    if (!request.getServerId().equals(server.getId())) {
      return network.sendRequestAsync(request);
    }
    CompletableFuture<RaftClientReply> submitted;
    try {
      submitted = server.submitClientRequestAsync(request);
    } catch (IOException | RuntimeException e) {
      submitted = CompletableFuture.failedFuture(e);
    }
    CompletableFuture<RaftClientReply> answer =
        submitted.thenApplyAsync(InProcessRpc::requireLeader, answers);
    waiting.add(answer);
    CompletableFuture<RaftClientReply> done =
        answer
            .orTimeout(timeoutMillis, TimeUnit.MILLISECONDS)
            .whenComplete((reply, e) -> waiting.remove(answer))
            .exceptionally(InProcessRpc::repeatable);
    if (closed) {
      fail(answer);
    }
    return done;
  }

  /** Over the network, too, these two answers are exceptions. */
  private static RaftClientReply requireLeader(RaftClientReply reply) {
    RaftException refusal = reply.getNotLeaderException();
    if (refusal == null) {
      refusal = reply.getLeaderNotReadyException();
    }
    if (refusal != null) {
      throw new CompletionException(refusal);
    }
    return reply;
  }

  /** The client repeats a request after an {@link IOException} alone. */
  private static RaftClientReply repeatable(Throwable e) {
    Throwable cause = JavaUtils.unwrapCompletionException(e);
    throw new CompletionException(
        cause instanceof IOException
            ? cause
            : new IOException("the server of this process did not answer", cause));
  }

  private static void fail(CompletableFuture<RaftClientReply> answer) {
    answer.completeExceptionally(new AlreadyClosedException("the client is closed"));
  }

  @Override
  public RaftClientReply sendRequest(RaftClientRequest request) throws IOException {
    return network.sendRequest(request);
  }

  @Override
  public CompletableFuture<RaftClientReply> sendRequestAsyncUnordered(RaftClientRequest request) {
    return network.sendRequestAsyncUnordered(request);
  }

  @Override
  public boolean handleException(RaftPeerId serverId, Throwable t, boolean reconnect) {
    return network.handleException(serverId, t, reconnect);
  }

  @Override
  public boolean shouldReconnect(Throwable t) {
    return network.shouldReconnect(t);
  }

  @Override
  public void addRaftPeers(Collection<RaftPeer> servers) {
    network.addRaftPeers(servers);
  }

  @Override
  public void close() throws IOException {
    closed = true;
    waiting.forEach(InProcessRpc::fail);
    answers.shutdown();
    network.close();
  }
}
