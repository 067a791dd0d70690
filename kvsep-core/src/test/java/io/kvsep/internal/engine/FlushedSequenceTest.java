package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What the manifest says about numbers after a flush holds whatever is written beside it. */
final class FlushedSequenceTest {
  @Test
  void aNumberThatAPowerFailureTakesBackIsNotInTheManifest() {
    CrashableStorage disk = new CrashableStorage();
    AtomicReference<Runnable> afterSync = new AtomicReference<>(() -> {});
    StorageEngine engine =
        Engines.open(new SyncsFollowed(disk, afterSync), new ManualScheduler(1, 1));
    put(engine, "durable");
    long durable = engine.reads().visibleSequence();
    afterSync.set(() -> CompletableFuture.runAsync(() -> put(engine, "taken back")).join());

    engine.flush();

    assertEquals(durable + 1, engine.reads().visibleSequence(), "written beside the flush");
    try (StorageEngine recovered =
        Engines.open(disk.crashSyncedOnly(), new ManualScheduler(1, 1))) {
      assertEquals(durable, recovered.reads().visibleSequence());
    }
    assertThrows(StoreFailedException.class, engine::close);
  }

  private static void put(StorageEngine engine, String key) {
    engine.writes().put(0, key.getBytes(UTF_8), new byte[1], 0);
  }

  /** Does something once, behind the next sync of a segment. */
  private static final class SyncsFollowed extends ForwardingStorage {
    private final AtomicReference<Runnable> afterSync;

    SyncsFollowed(CrashableStorage storage, AtomicReference<Runnable> afterSync) {
      super(storage);
      this.afterSync = afterSync;
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      return !file.name().endsWith(".vlog")
          ? file
          : new ForwardingFile(file) {
            @Override
            public void sync() throws IOException {
              super.sync();
              afterSync.getAndSet(() -> {}).run();
            }
          };
    }
  }
}
