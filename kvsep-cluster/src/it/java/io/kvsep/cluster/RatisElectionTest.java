package io.kvsep.cluster;

import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.apache.ratis.server.impl.LeaderElectionTests;
import org.junit.jupiter.api.AfterAll;

/** Elections, transfers, listeners, paused leaders. */
public final class RatisElectionTest extends LeaderElectionTests<MiniRaftClusterWithGrpc>
    implements MiniRaftClusterWithGrpc.FactoryGet {
  {
    setStateMachine(SuiteStateMachine.class);
  }

  @AfterAll
  static void theMachineWasUsed() {
    SuiteStateMachine.assertWasUsed();
  }
}
