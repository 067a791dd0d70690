package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.repair.Repair;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Zeros after the last frame, or after the end of a segment. Builds that preallocated the log left
 * them in a crash, and file systems leave them where a write was never done.
 */
final class TrailingZerosTest {
  private static final int ZERO_BYTES = 5_003;
  private static final int VALUES = 12;
  private static final int HEADER_BYTES = 40;

  private final Random random = new Random(1);
  private int written;

  private static EngineConfig config(CrashableStorage storage) {
    return config(storage, new ManualScheduler(1, 1));
  }

  private static EngineConfig config(CrashableStorage storage, ManualScheduler scheduler) {
    return ConfigDraft.of(Engines.config(storage, scheduler)).segmentBytes(8 << 10).build();
  }

  /** What a crash leaves of a log of two segments and an empty third one. */
  private CrashableStorage crashed(boolean flushed, TreeMap<String, String> content) {
    CrashableStorage storage = new CrashableStorage();
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    try (StorageEngine engine = StorageEngine.open(config(storage, scheduler))) {
      KvStore store = new OpenStore(engine);
      put(store, VALUES);
      if (flushed) {
        store.flush();
      } else {
        store.sync();
      }
      scheduler.runAll();
      content.putAll(content(engine));
      return storage.moment().crashKeepingAll();
    }
  }

  private void put(KvStore store, int count) {
    for (int i = 0; i < count; i++) {
      byte[] value = new byte[1_000];
      random.nextBytes(value);
      store.put(("key-" + written++).getBytes(UTF_8), value);
    }
  }

  private static TreeMap<String, String> content(StorageEngine engine) {
    TreeMap<String, String> content = new TreeMap<>();
    try (KvCursor cursor = new OpenStore(engine).cursor()) {
      while (cursor.next()) {
        content.put(new String(cursor.key(), UTF_8), HexFormat.of().formatHex(cursor.value()));
      }
    }
    return content;
  }

  private static CrashableStorage withZeros(CrashableStorage storage) throws IOException {
    CrashableStorage longer = storage.moment().crashKeepingAll();
    for (String name : storage.list()) {
      byte[] bytes = storage.contents(name);
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT && bytes.length > HEADER_BYTES) {
        longer.replace(name, Arrays.copyOf(bytes, bytes.length + ZERO_BYTES));
      }
    }
    return longer;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void areATornTailOfTheLog(boolean flushed) throws IOException {
    TreeMap<String, String> content = new TreeMap<>();
    CrashableStorage zeros = withZeros(crashed(flushed, content));
    assertEquals(VALUES, content.size());

    CrashableStorage copy = zeros.moment().crashKeepingAll();
    EngineConfig reading = ConfigDraft.of(config(copy)).readOnly(/* readOnly= */ true).build();
    try (StorageEngine engine = StorageEngine.open(reading)) {
      assertEquals(content, content(engine));
      assertTrue(engine.stats().tornBytes() > ZERO_BYTES);
      assertTrue(engine.verify().problems().isEmpty());
    }

    CrashableStorage later;
    try (StorageEngine engine = StorageEngine.open(config(zeros))) {
      assertEquals(content, content(engine));
      assertTrue(engine.verify().problems().isEmpty());
      put(new OpenStore(engine), VALUES);
      content = content(engine);
      later = zeros.moment().crashKeepingAll();
    }
    try (StorageEngine engine = StorageEngine.open(config(later))) {
      assertEquals(content, content(engine));
      assertEquals(0, engine.stats().tornBytes());
      assertTrue(engine.verify().problems().isEmpty());
    }
  }

  /** Nothing but the end of the log is listed as lost, and no key is uncertain for it. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void areListedOnceByARepair(boolean withManifest) throws IOException {
    TreeMap<String, String> content = new TreeMap<>();
    CrashableStorage zeros = withZeros(crashed(/* flushed= */ false, content));
    for (String name : zeros.list()) {
      boolean names =
          name.equals(StoreFiles.CURRENT) || StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST;
      if (names && !withManifest) {
        zeros.delete(name);
      }
    }
    try (StorageEngine target = Engines.open(new CrashableStorage(), new ManualScheduler(3, 2))) {
      RepairReport result =
          Repair.run(new Repair.Input(zeros, new CrashableStorage(), target, 1_000, 16 << 10));
      assertEquals(content, content(target));
      assertEquals(withManifest, result.manifestUsed());
      assertTrue(result.uncertain().isEmpty());
      long segments =
          result.losses().stream()
              .filter(loss -> StoreFiles.kindOf(loss.file()) == StoreFiles.Kind.SEGMENT)
              .count();
      assertEquals(1, segments, () -> result.losses().toString());
    }
    assertFalse(content.isEmpty());
  }
}
