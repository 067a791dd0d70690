package io.kvsep.kafka.streams;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How long versions stay. */
final class VersionedStoreTest {
  private static final Bytes KEY = Bytes.wrap("k".getBytes(US_ASCII));

  @TempDir private Path directory;

  @Test
  void versionInPlaceOfDeletionStaysUntilItsOwnEnd() throws Exception {
    KvsepVersionedStore store = new KvsepVersionedStore("s", 10_000, 1_000);
    store.init((StateStoreContext) Contexts.in(directory, Map.of()), store);
    try {
      store.put(KEY, null, 100);
      store.put(KEY, value("b"), 5_000);
      store.put(KEY, value("a"), 100);
      store.put(Bytes.wrap(value("other")), value("c"), 13_000);
      assertArrayEquals(value("a"), Objects.requireNonNull(store.get(KEY, 4_000)).value());
    } finally {
      store.close();
    }
  }

  private static byte[] value(String text) {
    return text.getBytes(US_ASCII);
  }
}
