package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.apache.ratis.proto.RaftProtos.FileChunkProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto.SnapshotChunkProto;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class SnapshotRpcTest {
  @TempDir Path directory;

  @Test
  void aChunkIsTheSameInItsFile() throws Exception {
    byte[] content = new byte[10_000];
    new Random(1).nextBytes(content);
    Path file = directory.resolve("sm/snapshot.1_2/file");
    Files.createDirectories(file.getParent());
    Files.write(file, content);
    byte[] part = Arrays.copyOfRange(content, 4_000, 9_000);
    InstallSnapshotRequestProto request =
        InstallSnapshotRequestProto.newBuilder()
            .setLeaderTerm(7)
            .setSnapshotChunk(
                SnapshotChunkProto.newBuilder()
                    .setDone(true)
                    .addFileChunks(
                        FileChunkProto.newBuilder()
                            .setFilename("sm/snapshot.1_2/file")
                            .setOffset(4_000)
                            .setData(ByteString.copyFrom(part))))
            .build();
    InstallSnapshotRequestProto mapped = SnapshotRpc.map(request, directory);
    assertEquals(request, mapped);
    assertArrayEquals(request.toByteArray(), mapped.toByteArray());
    ByteString data = mapped.getSnapshotChunk().getFileChunks(0).getData();
    assertTrue(data.asReadOnlyByteBuffer().isDirect(), "a chunk in the heap");
  }

  /** Ratis holds what it has sent for 24 seconds. */
  @Test
  void aSentSnapshotIsNotInTheHeap() throws Exception {
    int requests = 120;
    byte[] value = new byte[900_000];
    Random random = new Random(1);
    try (TestGroup group = new TestGroup(directory, 1)) {
      ReplicatedStore first = group.node("a");
      for (int i = 0; i < requests; i++) {
        random.nextBytes(value);
        first.store().put(("k" + i).getBytes(UTF_8), value);
      }
      first.takeSnapshot();
      ReplicatedStore joined = group.startJoining("b");
      long before = usedHeap();
      first.add("b", group.address("b"));
      long more = usedHeap() - before;
      assertNotNull(joined.machine().getLatestSnapshot(), "it got the log");
      assertTrue(more < requests * value.length / 2, more + " bytes");
      assertArrayEquals(value, joined.store().get(("k" + (requests - 1)).getBytes(UTF_8)));
    }
  }

  private static long usedHeap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }
}
