package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.ModelDraw;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;

/** A keyspace in a model test: what the model calls it, and how the store lets it be used. */
record ModelSpace(int number, Keyspace handle, KeyspaceView view) {
  String name() {
    return handle.name();
  }

  /**
   * Every use of a dropped keyspace, except through a snapshot, is refused, even if its name is
   * taken again.
   */
  void checkDropped(KvStore store, ModelDraw draw) {
    byte[] key = draw.key();
    byte[] none = ModelDraw.NO_BYTES;
    List<Runnable> uses =
        List.of(
            () -> store.in(handle),
            () -> view.get(key),
            () -> view.contains(key),
            () -> view.getAll(List.of(key, draw.key())),
            () -> view.getAll(List.of()),
            () -> view.read(key, value -> "read"),
            () -> view.get(Bytes.wrapForRead(key), Bytes.allocateElasticOnHeap(16)),
            view::cursor,
            () -> view.cursor(ScanOptions.prefix(key).reverse().keysOnly()),
            () -> view.put(key, draw.value()),
            () -> view.put(key, draw.value(), Duration.ofMillis(9)),
            () -> view.delete(key),
            () -> view.compute(key, value -> key),
            () -> view.compute(key, value -> null),
            () -> view.expire(key, Duration.ofMillis(9)),
            () -> view.compareAndSet(key, null, key),
            () -> view.compareAndDelete(key, key),
            () -> view.bulkLoad(Stream.of(Map.entry(key, key))),
            () -> view.bulkLoad(Stream.empty()),
            () -> view.get(key, ByteBuffer.allocate(9)),
            view::first,
            () -> view.stream(ScanOptions.all()),
            () -> view.deleteRange(none, key),
            () -> view.deleteRange(key, none));
    Runnable use = draw.from(uses);
    assertThrows(IllegalStateException.class, use::run);
  }

  /** What an earlier opening gave out is refused by this one, and closed. */
  void checkStale(KvStore store, ModelDraw draw, List<Snapshot> snapshots, List<ModelSpace> all) {
    assertThrows(IllegalArgumentException.class, () -> store.in(handle));
    assertThrows(IllegalArgumentException.class, () -> store.dropKeyspace(handle));
    assertThrows(StoreClosedException.class, () -> view.get(draw.key()));
    assertThrows(StoreClosedException.class, () -> view.put(draw.key(), draw.value()));
    for (Snapshot snapshot : snapshots) {
      assertThrows(IllegalArgumentException.class, () -> snapshot.in(handle));
    }
    for (ModelSpace present : all) {
      assertNotEquals(present.handle(), handle);
    }
  }
}
