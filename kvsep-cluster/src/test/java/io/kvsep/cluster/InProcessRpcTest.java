package io.kvsep.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.ratis.client.RaftClientRpc;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftGroupMemberId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.AlreadyClosedException;
import org.apache.ratis.protocol.exceptions.NotLeaderException;
import org.apache.ratis.protocol.exceptions.RaftException;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class InProcessRpcTest {
  private static final RaftPeerId SELF = RaftPeerId.valueOf("a");
  private static final RaftPeerId OTHER = RaftPeerId.valueOf("b");
  private static final RaftGroupId GROUP = RaftNode.groupId("group");

  private final List<RaftPeerId> network = new ArrayList<>();
  private final CompletableFuture<RaftClientReply> answer = new CompletableFuture<>();
  private @Nullable RuntimeException refusal;

  private InProcessRpc rpc(Duration timeout) {
    RaftServer server =
        (RaftServer)
            Proxy.newProxyInstance(
                RaftServer.class.getClassLoader(),
                new Class<?>[] {RaftServer.class},
                (self, method, arguments) -> {
                  if (method.getName().equals("getId")) {
                    return SELF;
                  }
                  assertEquals("submitClientRequestAsync", method.getName());
                  if (refusal != null) {
                    throw refusal;
                  }
                  return answer;
                });
    return new InProcessRpc(new Network(), server, timeout);
  }

  private static RaftClientRequest request(RaftPeerId server) {
    return RaftClientRequest.newBuilder()
        .setClientId(ClientId.randomId())
        .setServerId(server)
        .setGroupId(GROUP)
        .setCallId(1)
        .setMessage(Message.EMPTY)
        .setType(RaftClientRequest.writeRequestType())
        .build();
  }

  private static RaftClientReply reply(@Nullable RaftException failure) {
    RaftClientReply.Builder reply = RaftClientReply.newBuilder().setRequest(request(SELF));
    return failure == null ? reply.setSuccess().build() : reply.setException(failure).build();
  }

  private static @Nullable Throwable failure(CompletableFuture<RaftClientReply> reply) {
    return assertThrows(ExecutionException.class, () -> reply.get(20, TimeUnit.SECONDS)).getCause();
  }

  @Test
  void onlyRequestsForOtherServersUseTheNetwork() throws Exception {
    try (InProcessRpc rpc = rpc(Duration.ofMinutes(1))) {
      CompletableFuture<RaftClientReply> own = rpc.sendRequestAsync(request(SELF));
      RaftClientReply reply = reply(null);
      answer.complete(reply);
      assertSame(reply, own.get(20, TimeUnit.SECONDS));
      assertEquals(List.of(), network);
      rpc.sendRequestAsync(request(OTHER)).get(20, TimeUnit.SECONDS);
      assertEquals(List.of(OTHER), network);
    }
  }

  @Test
  void replyOfANodeThatDoesNotLeadIsAnException() throws Exception {
    try (InProcessRpc rpc = rpc(Duration.ofMinutes(1))) {
      RaftGroupMemberId member = RaftGroupMemberId.valueOf(SELF, GROUP);
      NotLeaderException notLeader =
          new NotLeaderException(member, RaftPeer.newBuilder().setId(OTHER).build(), List.of());
      answer.complete(reply(notLeader));
      assertSame(notLeader, failure(rpc.sendRequestAsync(request(SELF))));
    }
  }

  /** Ratis gives a request up after any other exception. */
  @Test
  void failuresOfTheServerAreRepeated() throws Exception {
    try (InProcessRpc rpc = rpc(Duration.ofMinutes(1))) {
      refusal = new RejectedExecutionException("seeded");
      assertSame(
          refusal,
          assertInstanceOf(IOException.class, failure(rpc.sendRequestAsync(request(SELF))))
              .getCause());
    }
  }

  @Test
  void silenceOfTheServerIsRepeated() throws Exception {
    try (InProcessRpc rpc = rpc(Duration.ofMillis(1))) {
      Throwable silent = failure(rpc.sendRequestAsync(request(SELF)));
      assertInstanceOf(
          TimeoutException.class, assertInstanceOf(IOException.class, silent).getCause());
    }
    // That of the server is not touched: another try may wait for it.
    assertEquals(false, answer.isDone());
  }

  @Test
  void closingAnswersWhatWaits() throws Exception {
    InProcessRpc rpc = rpc(Duration.ofMinutes(1));
    CompletableFuture<RaftClientReply> before = rpc.sendRequestAsync(request(SELF));
    rpc.close();
    assertInstanceOf(AlreadyClosedException.class, failure(before));
    assertInstanceOf(AlreadyClosedException.class, failure(rpc.sendRequestAsync(request(SELF))));
    assertEquals(false, answer.isDone());
  }

  /** Answers everything. */
  private final class Network implements RaftClientRpc {
    @Override
    public CompletableFuture<RaftClientReply> sendRequestAsync(RaftClientRequest request) {
      network.add(request.getServerId());
      return CompletableFuture.completedFuture(reply(null));
    }

    @Override
    public RaftClientReply sendRequest(RaftClientRequest request) {
      throw new AssertionError(request);
    }

    @Override
    public void addRaftPeers(Collection<RaftPeer> servers) {}

    @Override
    public void close() {}
  }
}
