package io.kvsep.collections;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.KeyspaceView;
import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.error.CorruptionException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ChunksTest {
  private static final int DAMAGED = 5;

  /** Values of one key cannot be read, as if their record were damaged. */
  private boolean isDamaged = true;

  private <T> T wrapped(Class<T> type, T target) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (isDamaged
                  && method.getName().equals("value")
                  && target instanceof KvCursor cursor
                  && cursor.key()[0] == DAMAGED) {
                throw new CorruptionException("000001.vlog", 0, "a crc", "another");
              }
              try {
                Object result = method.invoke(target, arguments);
                return result instanceof KvCursor cursor ? wrapped(KvCursor.class, cursor) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  @Test
  void anEntryIsGivenOnceAlthoughALaterOneOfItsChunkIsDamaged() {
    try (KvStore store = KvStore.inMemory()) {
      KeyspaceView view = store.in(store.keyspace("k"));
      for (int i = 1; i < 10; i++) {
        view.put(new byte[] {(byte) i}, new byte[] {(byte) i});
      }
      Chunks chunks =
          new Chunks(wrapped(KeyspaceView.class, view), KeyRange.ALL, false, /* keysOnly= */ false);
      for (int attempt = 0; attempt < 3; attempt++) {
        assertThrows(CorruptionException.class, chunks::next);
      }
      isDamaged = false;
      List<Integer> keys = new ArrayList<>();
      chunks.forEachRemaining(entry -> keys.add((int) entry.key()[0]));
      assertEquals(List.of(1, 2, 3, 4, 5, 6, 7, 8, 9), keys);
    }
  }
}
