package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.ModelState;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** A snapshot that stays open, what it must show, and the readers that were asked of it. */
final class ModelSnapshot {
  private final Snapshot snapshot;
  private final ModelState state;
  private final Set<Integer> dropped;
  private final Map<Integer, KvReader> readers = new HashMap<>();

  /**
   * @param dropped which keyspaces were dropped before
   */
  ModelSnapshot(Snapshot snapshot, ModelState state, Set<Integer> dropped) {
    this.snapshot = snapshot;
    this.state = state;
    this.dropped = dropped;
  }

  Snapshot snapshot() {
    return snapshot;
  }

  ModelPast past() {
    return new ModelPast(KvStoreModelRun.DEFAULT, snapshot, state);
  }

  /**
   * Through a reader that was made before, or a new one. A keyspace that was dropped before is
   * refused; then it is the store itself.
   */
  ModelPast past(ModelSpace space, boolean held) {
    if (dropped.contains(space.number())) {
      assertThrows(IllegalStateException.class, () -> snapshot.in(space.handle()));
      return past();
    }
    KvReader reader =
        held
            ? readers.computeIfAbsent(space.number(), number -> snapshot.in(space.handle()))
            : snapshot.in(space.handle());
    assertFalse(reader instanceof KvWriter, "a snapshot that can be written to");
    return new ModelPast(space.number(), reader, state);
  }

  /** Neither it nor what came from it can be used any more. */
  void checkClosed(byte[] key) {
    assertThrows(StoreClosedException.class, () -> snapshot.get(key));
    for (KvReader reader : readers.values()) {
      assertThrows(StoreClosedException.class, () -> reader.get(key));
      assertThrows(StoreClosedException.class, reader::cursor);
    }
  }
}
