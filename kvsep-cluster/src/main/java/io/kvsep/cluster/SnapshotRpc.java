package io.kvsep.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Iterator;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.grpc.GrpcFactory;
import org.apache.ratis.grpc.server.GrpcLogAppender;
import org.apache.ratis.proto.RaftProtos.FileChunkProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.rpc.RpcFactory;
import org.apache.ratis.rpc.RpcType;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.leader.FollowerInfo;
import org.apache.ratis.server.leader.LeaderState;
import org.apache.ratis.server.leader.LogAppender;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;

/**
 * The gRPC of Ratis, but for snapshots, whose chunks are mapped and not in the heap. Ratis 3.3.0
 * holds each chunk until the time for its answer is over, answered or not: what it sends in 24
 * seconds. Ratis makes it by its name.
 */
final class SnapshotRpc implements RpcType {
  @Override
  public String name() {
    return SnapshotRpc.class.getName();
  }

  @Override
  public RpcFactory newFactory(Parameters parameters) {
    return new GrpcFactory(parameters) {
      @Override
      public LogAppender newLogAppender(
          RaftServer.Division server, LeaderState leader, FollowerInfo follower) {
        return new Appender(server, leader, follower);
      }
    };
  }

  private static final class Appender extends GrpcLogAppender {
    Appender(RaftServer.Division server, LeaderState leader, FollowerInfo follower) {
      super(server, leader, follower);
    }

    @Override
    public Iterable<InstallSnapshotRequestProto> newInstallSnapshotRequests(
        String requestId, SnapshotInfo snapshot) {
      Iterable<InstallSnapshotRequestProto> read =
          super.newInstallSnapshotRequests(requestId, snapshot);
      Path root = getServer().getRaftStorage().getStorageDir().getRoot().toPath();
      return () -> new Mapped(read.iterator(), root);
    }
  }

  private record Mapped(Iterator<InstallSnapshotRequestProto> read, Path root)
      implements Iterator<InstallSnapshotRequestProto> {
    @Override
    public boolean hasNext() {
      return read.hasNext();
    }

    @Override
    public InstallSnapshotRequestProto next() {
      return map(read.next(), root);
    }
  }

  /**
   * The same request, with its bytes in the files of the snapshot, which do not change.
   *
   * @param root of the names of files
   */
  static InstallSnapshotRequestProto map(InstallSnapshotRequestProto request, Path root) {
    InstallSnapshotRequestProto.Builder mapped = request.toBuilder();
    for (FileChunkProto.Builder chunk :
        mapped.getSnapshotChunkBuilder().getFileChunksBuilderList()) {
      try (FileChannel file = FileChannel.open(root.resolve(chunk.getFilename()))) {
        ByteBuffer bytes =
            file.map(FileChannel.MapMode.READ_ONLY, chunk.getOffset(), chunk.getData().size());
        chunk.setData(UnsafeByteOperations.unsafeWrap(bytes));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return mapped.build();
  }
}
