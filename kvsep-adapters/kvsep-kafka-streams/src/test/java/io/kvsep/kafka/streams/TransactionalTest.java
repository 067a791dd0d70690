package io.kvsep.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keyspaces of transactional stores, which the Kafka of the other tests does not have. */
final class TransactionalTest {
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);

  @TempDir private Path directory;

  private final List<TaskKeyspace> opened = new ArrayList<>();

  private TaskKeyspace open(Path folder) throws Exception {
    StateStoreContext context = Contexts.in(folder, Map.of());
    StoreSettings settings = StoreSettings.of(context);
    TaskKeyspace keyspace =
        TaskKeyspace.open(
            context,
            "counts",
            new StoreSettings(
                settings.directory(),
                settings.stateDirectory(),
                settings.options(),
                settings.commitDurability(),
                /* exactlyOnce= */ true,
                /* transactional= */ true));
    opened.add(keyspace);
    return keyspace;
  }

  @AfterEach
  void close() {
    opened.forEach(TaskKeyspace::close);
  }

  @Test
  void afterCrashThereIsWhatWasCommitted() throws Exception {
    Path live = directory.resolve("live");
    TaskKeyspace keyspace = open(live);
    keyspace.put(bytes("a"), bytes("1"));
    keyspace.write(writes -> writes.put(bytes("b"), bytes("1")));
    keyspace.commit(Map.of(CHANGELOG, 10L));
    keyspace.put(bytes("a"), bytes("2"));
    keyspace.put(bytes("b"), null);
    assertTrue(keyspace.uncommittedBytes() > 0);

    TaskKeyspace recovered = open(Folders.copy(live, directory.resolve("crashed")));
    assertArrayEquals(bytes("1"), recovered.get(bytes("a")));
    assertArrayEquals(bytes("1"), recovered.get(bytes("b")));
    assertEquals(10L, recovered.committedOffset(CHANGELOG));
  }

  @Test
  void closeForgetsWhatWasNotCommitted() throws Exception {
    TaskKeyspace keyspace = open(directory);
    keyspace.put(bytes("a"), bytes("1"));
    keyspace.close();
    assertNull(open(directory).get(bytes("a")));
  }

  @Test
  void otherThreadsReadWhatIsCommitted() throws Exception {
    TaskKeyspace keyspace = open(directory);
    keyspace.put(bytes("a"), bytes("1"));
    keyspace.commit(Map.of(CHANGELOG, 10L));
    keyspace.put(bytes("a"), bytes("2"));
    keyspace.put(bytes("b"), bytes("2"));
    keyspace.position().withComponent("input", 0, 1);
    assertArrayEquals(bytes("2"), keyspace.get(bytes("a")));
    assertEquals(2, count(keyspace));
    CompletableFuture.runAsync(
            () -> {
              assertArrayEquals(bytes("1"), keyspace.get(bytes("a")));
              assertEquals(1, count(keyspace));
              assertEquals(Position.emptyPosition(), keyspace.visiblePosition());
            })
        .get();
    keyspace.commit(Map.of(CHANGELOG, 11L));
    CompletableFuture.runAsync(
            () -> {
              assertArrayEquals(bytes("2"), keyspace.get(bytes("a")));
              assertEquals(keyspace.position(), keyspace.visiblePosition());
            })
        .get();
    assertEquals(0, keyspace.uncommittedBytes());
  }

  @Test
  void restoredRecordsAreCommitted() throws Exception {
    TaskKeyspace keyspace = open(directory);
    keyspace.restore(writes -> writes.put(bytes("a"), bytes("1")));
    keyspace.restoreBuffered(view -> view.put(bytes("b"), bytes("1")));
    assertEquals(0, keyspace.uncommittedBytes());
    keyspace.close();
    assertEquals(2, count(open(directory)));
  }

  private static int count(TaskKeyspace keyspace) {
    int count = 0;
    try (KvCursor cursor = keyspace.cursor(ScanOptions.all())) {
      while (cursor.next()) {
        count++;
      }
    }
    return count;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
