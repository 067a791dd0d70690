package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store as a user first meets it, on real files. */
final class KvStoreTest {
  @TempDir Path directory;

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  @Test
  void valuesSurviveReopening() {
    byte[] large = new byte[3_000_000];
    new Random(1).nextBytes(large);
    byte[] compressible = new byte[2_932_000];
    try (KvStore store = KvStore.open(directory)) {
      store.put(bytes("small"), bytes("value"));
      store.put(bytes("large"), large);
      store.put(bytes("zeros"), compressible);
      store.put(bytes("empty"), new byte[0]);
      store.put(bytes("gone"), bytes("x"));
      store.delete(bytes("gone"));
      check(store, large, compressible);
    }
    try (KvStore store = KvStore.open(directory)) {
      check(store, large, compressible);
      store.compact();
      check(store, large, compressible);
    }
  }

  private static void check(KvStore store, byte[] large, byte[] compressible) {
    assertArrayEquals(bytes("value"), store.get(bytes("small")));
    assertArrayEquals(large, store.get(bytes("large")));
    assertArrayEquals(compressible, store.get(bytes("zeros")));
    assertArrayEquals(new byte[0], store.get(bytes("empty")));
    assertNull(store.get(bytes("gone")));
    assertFalse(store.contains(bytes("gone")));
    assertTrue(store.contains(bytes("small")));
    try (KvCursor cursor = store.cursor()) {
      StringBuilder keys = new StringBuilder();
      while (cursor.next()) {
        keys.append(new String(cursor.key(), UTF_8)).append(' ');
      }
      assertEquals("empty large small zeros ", keys.toString());
    }
  }
}
