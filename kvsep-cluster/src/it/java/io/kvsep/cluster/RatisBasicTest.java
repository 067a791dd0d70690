package io.kvsep.cluster;

import org.apache.ratis.RaftBasicTests;
import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.junit.jupiter.api.AfterAll;

/** Appends, with leaders that are killed and under load. */
public final class RatisBasicTest extends RaftBasicTests<MiniRaftClusterWithGrpc>
    implements MiniRaftClusterWithGrpc.FactoryGet {
  {
    setStateMachine(SuiteStateMachine.class);
  }

  @AfterAll
  static void theMachineWasUsed() {
    SuiteStateMachine.assertWasUsed();
  }
}
