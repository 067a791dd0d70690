package io.kvsep.collections;

import io.kvsep.Keyspace;
import io.kvsep.KeyspaceView;
import io.kvsep.KvStore;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.stream.IntStream;

/** New keyspaces of one store in memory. */
final class Keyspaces implements AutoCloseable {
  private static final int BATCH = 1_000;

  private final KvStore store = KvStore.inMemory();
  private final Deque<Keyspace> unused = new ArrayDeque<>();
  private int count;

  KeyspaceView next() {
    if (unused.isEmpty()) {
      unused.addAll(
          store.keyspaces(IntStream.range(count, count + BATCH).mapToObj(i -> "k" + i).toList()));
      count += BATCH;
    }
    return store.in(unused.remove());
  }

  @Override
  public void close() {
    store.close();
  }
}
