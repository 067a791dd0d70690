package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;

/**
 * The machine as Ratis' own tests need it: they send any bytes, and look for just these in the log.
 * When such an entry is applied, it becomes a put of its bytes under its index.
 */
public final class SuiteStateMachine extends GroupStateMachine {
  private static final AtomicInteger OPENED = new AtomicInteger();

  private static final int REQUEST_BYTES_MAX = 48 << 20;

  /** Made by Ratis, from the name of the class. */
  public SuiteStateMachine() {
    super(new SuiteHost());
  }

  /** Ratis would take a machine that does nothing if it was not told of this one. */
  static void assertWasUsed() {
    assertTrue(OPENED.get() > 0);
  }

  @Override
  public TransactionContext startTransaction(RaftClientRequest request) {
    return TransactionContext.newBuilder()
        .setStateMachine(this)
        .setClientRequest(request)
        .setLogData(request.getMessage().getContent())
        .build();
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
    LogEntryProto entry = transaction.getLogEntry();
    ByteString content = entry.getStateMachineLogEntry().getLogData();
    RequestWriter request = new RequestWriter(REQUEST_BYTES_MAX);
    request.put(null, ("entry " + entry.getIndex()).getBytes(UTF_8), content.toByteArray());
    byte[] stamp = LogEntry.stamp(/* timeMillis= */ 1);
    byte[] body = LogEntry.body(List.of(request.toBytes()));
    LogEntryProto put =
        entry.toBuilder()
            .setStateMachineLogEntry(
                entry.getStateMachineLogEntry().toBuilder()
                    .setLogData(
                        UnsafeByteOperations.unsafeWrap(stamp)
                            .concat(UnsafeByteOperations.unsafeWrap(body))))
            .build();
    return super.applyTransaction(
        TransactionContext.newBuilder()
            .setStateMachine(this)
            .setServerRole(transaction.getServerRole())
            .setLogEntry(put)
            .build());
  }

  private static final class SuiteHost implements Host {
    @Override
    public GroupClock newClock() {
      return new GroupClock(Clock.systemUTC());
    }

    @Override
    public KvStore open(Path directory, GroupClock clock) {
      OPENED.incrementAndGet();
      return KvStore.open(
          directory,
          KvOptions.builder()
              .memoryBudgetBytes(16 << 20)
              .durability(Durability.none())
              .clock(clock)
              .build());
    }

    @Override
    public void logGrew(long bytes, long entries) {}

    @Override
    public void failed(Throwable cause) {
      cause.printStackTrace();
    }
  }
}
