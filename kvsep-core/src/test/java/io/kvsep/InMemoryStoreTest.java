package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreNotFoundException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store in memory is a store like others, without a directory. */
final class InMemoryStoreTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);

  @TempDir Path folder;

  private static KvOptions.Builder small() {
    return KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20);
  }

  @Test
  void everyStoreInMemoryIsEmptyAndItsOwn() {
    try (KvStore one = KvStore.inMemory();
        KvStore other = KvStore.inMemory()) {
      one.put(KEY, KEY);
      assertNull(other.get(KEY));
      assertNull(other.first());
      assertEquals(new KvEntry(KEY, KEY), one.first());
    }
  }

  @Test
  void whatIsWrittenOverwrittenAndDeletedIsAsOnDisk() {
    Random random = new Random(1);
    TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    try (KvStore store = KvStore.inMemory(small().durability(Durability.sync()).build())) {
      for (int i = 0; i < 30_000; i++) {
        byte[] key = Integer.toString(random.nextInt(3_000)).getBytes(UTF_8);
        if (random.nextInt(5) == 0) {
          store.delete(key);
          model.remove(key);
        } else {
          byte[] value = new byte[random.nextInt(10) == 0 ? 5_000 : random.nextInt(500)];
          random.nextBytes(value);
          store.put(key, value);
          model.put(key, value);
        }
        switch (random.nextInt(3_000)) {
          case 0 -> store.compact();
          case 1 -> store.reclaim();
          case 2 -> store.flush();
          default -> {}
        }
      }
      check(store, model);
      assertTrue(store.verify().isSound());
      Path copy = folder.resolve("copy");
      store.checkpoint(copy);
      store.deleteRange(new byte[0], "a".getBytes(UTF_8));
      store.compact();
      store.reclaim();
      assertNull(store.first());
      assertTrue(store.stats().logBytes() < 3 << 20, () -> store.stats().toString());
      try (KvStore opened = KvStore.open(copy)) {
        check(opened, model);
        assertTrue(opened.verify().isSound());
      }
    }
  }

  private static void check(KvStore store, TreeMap<byte[], byte[]> model) {
    try (KvCursor cursor = store.cursor()) {
      for (Map.Entry<byte[], byte[]> entry : model.entrySet()) {
        assertTrue(cursor.next());
        assertArrayEquals(entry.getKey(), cursor.key());
        assertArrayEquals(entry.getValue(), cursor.value());
        assertArrayEquals(entry.getValue(), store.get(entry.getKey()));
      }
      assertEquals(false, cursor.next());
    }
  }

  @Test
  void aValueViewOutlivesItsFile() {
    try (KvStore store = KvStore.inMemory(small().build())) {
      byte[] value = new byte[10_000];
      new Random(2).nextBytes(value);
      store.put(KEY, value);
      store.compact();
      store.read(
          KEY,
          view -> {
            store.delete(KEY);
            store.reclaim();
            store.compact();
            byte[] seen = new byte[view.remaining()];
            view.get(seen);
            assertArrayEquals(value, seen);
            return null;
          });
    }
  }

  @Test
  void aBulkLoadAndABackupNeedNoDisk() {
    try (KvStore store = KvStore.inMemory(small().build());
        KvStore other = KvStore.inMemory(small().build())) {
      assertEquals(1, store.bulkLoad(Map.of(KEY, KEY).entrySet().iterator()));
      ByteArrayOutputStream backup = new ByteArrayOutputStream();
      store.backup(backup, 0);
      other.restore(new ByteArrayInputStream(backup.toByteArray()));
      assertArrayEquals(KEY, other.get(KEY));
    }
  }

  @Test
  void afterCloseNothingIsThere() {
    KvStore store = KvStore.inMemory();
    store.put(KEY, KEY);
    store.close();
    store.close();
    assertThrows(StoreClosedException.class, () -> store.get(KEY));
  }

  @Test
  void optionsThatDoNotCreateAStoreAreRefused() {
    for (KvOptions options :
        List.of(
            KvOptions.builder().createIfMissing(false).build(),
            KvOptions.builder().readOnly(true).build())) {
      assertThrows(StoreNotFoundException.class, () -> KvStore.inMemory(options));
    }
    KvStore.inMemory(KvOptions.builder().exclusive(true).build()).close();
  }
}
