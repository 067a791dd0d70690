package io.kvsep.cluster;

import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.apache.ratis.server.impl.GroupManagementBaseTest;
import org.apache.ratis.server.impl.MiniRaftCluster;
import org.junit.jupiter.api.AfterAll;

/** Groups that are added to servers, removed and restarted. */
public final class RatisGroupManagementTest extends GroupManagementBaseTest {
  @Override
  public MiniRaftCluster.Factory<? extends MiniRaftCluster> getClusterFactory() {
    return MiniRaftClusterWithGrpc.FACTORY;
  }

  @Override
  public MiniRaftCluster getCluster(int nodes) {
    MiniRaftCluster cluster = super.getCluster(nodes);
    cluster.setStateMachineRegistry(group -> new SuiteStateMachine());
    return cluster;
  }

  @AfterAll
  static void theMachineWasUsed() {
    SuiteStateMachine.assertWasUsed();
  }
}
