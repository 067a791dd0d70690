package io.kvsep.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class PendingWritesTest {
  private static final byte[] KEY = {1};
  private static final long PUTS = 20_000;

  @Test
  void otherThreadNeverReadsAnOlderValue() throws Exception {
    try (KvStore store = KvStore.inMemory()) {
      Keyspace keyspace = store.keyspace("data");
      PendingWrites pending = new PendingWrites(store, keyspace);
      AtomicReference<String> wrong = new AtomicReference<>();
      Thread reader =
          new Thread(
              () -> {
                long last = 0;
                for (int i = 0; last < PUTS && wrong.get() == null; i++) {
                  long now = i % 2 == 0 ? number(pending.get(KEY)) : scanned(store, pending);
                  if (now < last) {
                    wrong.set(now + " after " + last);
                  }
                  last = now;
                }
              });
      reader.start();
      for (long i = 1; i <= PUTS; i++) {
        pending.put(KEY, ByteBuffer.allocate(1_000).putLong(i).array());
      }
      reader.join();
      assertNull(wrong.get());
    }
  }

  private static long scanned(KvStore store, PendingWrites pending) {
    pending.flush();
    try (KvCursor cursor = store.in(store.keyspace("data")).cursor(ScanOptions.all())) {
      return cursor.next() ? number(cursor.value()) : 0;
    }
  }

  private static long number(byte @Nullable [] value) {
    return value == null ? 0 : ByteBuffer.wrap(value).getLong();
  }

  @Test
  void writesThatBelongTogetherReachTheStoreTogether() {
    try (KvStore store = KvStore.inMemory()) {
      Keyspace keyspace = store.keyspace("data");
      PendingWrites pending = new PendingWrites(store, keyspace);
      long before = store.stats().commits();
      pending.write(
          writes -> {
            for (byte i = 1; i <= 50; i++) {
              writes.put(new byte[] {i}, new byte[1_000]);
            }
            writes.delete(KEY);
          });
      assertEquals(before + 1, store.stats().commits());
      assertNull(store.in(keyspace).get(KEY));
      assertArrayEquals(new byte[1_000], store.in(keyspace).get(new byte[] {50}));
    }
  }
}
