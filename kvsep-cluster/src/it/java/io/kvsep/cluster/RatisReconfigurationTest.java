package io.kvsep.cluster;

import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.apache.ratis.server.impl.RaftReconfigurationBaseTest;
import org.junit.jupiter.api.AfterAll;

/** Members that come and go. */
public final class RatisReconfigurationTest
    extends RaftReconfigurationBaseTest<MiniRaftClusterWithGrpc>
    implements MiniRaftClusterWithGrpc.FactoryGet {
  {
    setStateMachine(SuiteStateMachine.class);
  }

  @AfterAll
  static void theMachineWasUsed() {
    SuiteStateMachine.assertWasUsed();
  }
}
