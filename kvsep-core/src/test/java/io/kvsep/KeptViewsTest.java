package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of views that are kept beyond the call, and of the files they are views of. */
final class KeptViewsTest {
  private static final int VALUES = 1_600;
  private static final int VALUE_BYTES = 60_000;
  private static final int LONG_BYTES = (1 << 20) + 1;
  private static final int TRIES_MAX = 200;

  @TempDir Path directory;

  /** Until they are known to be gone, no more files are kept by views of others. */
  @Test
  void viewsAreCopiesWhileManyDeletedFilesAreKeptByOthers() {
    KvOptions options =
        KvOptions.builder().segmentBytes(1 << 20).valueCompression(ValueCompression.NONE).build();
    try (KvStore store = KvStore.open(directory, options)) {
      write(store, 1);
      store.flush();
      List<ByteBuffer> kept = new ArrayList<>();
      for (int i = 0; i < VALUES; i++) {
        kept.add(view(store, i));
      }
      assertTrue(kept.get(0).isDirect());
      write(store, 2);
      store.put(key(VALUES), new byte[LONG_BYTES]);
      store.flush();
      store.reclaim();
      int copies = 0;
      for (int i = 0; i < VALUES; i++) {
        ByteBuffer view = view(store, i);
        assertHolds(view, 2, i);
        copies += view.isDirect() ? 0 : 1;
      }
      assertTrue(copies > VALUES / 2, copies + " copies");
      ByteBuffer longValue = view(store, VALUES);
      assertTrue(longValue.isDirect(), "a copy of a long value");
      assertArrayEquals(new byte[LONG_BYTES], bytes(longValue));
      for (int i = 0; i < VALUES; i++) {
        assertHolds(kept.get(i), 1, i);
      }
      kept.clear();
      boolean direct = false;
      for (int i = 0; i < TRIES_MAX && !direct; i++) {
        System.gc();
        direct = view(store, VALUES - 1).isDirect();
      }
      assertTrue(direct, "a copy when no view is kept any more");
    }
  }

  /** A short value costs no more as a copy, and keeps nothing. */
  @Test
  void viewsOfShortValuesKeepNoFile() {
    try (KvStore store = KvStore.open(directory)) {
      store.put(key(1), new byte[100]);
      store.flush();
      ByteBuffer view = view(store, 1);
      assertFalse(view.isDirect());
      assertTrue(view.isReadOnly());
      assertArrayEquals(new byte[100], bytes(view));
    }
  }

  private static void write(KvStore store, int round) {
    for (int i = 0; i < VALUES; i++) {
      store.put(key(i), value(round, i));
    }
  }

  /** Kept beyond the call, which no program should do. */
  private static ByteBuffer view(KvStore store, int i) {
    ByteBuffer view = store.read(key(i), found -> found);
    assertNotNull(view);
    return view;
  }

  private static void assertHolds(ByteBuffer view, int round, int i) {
    assertArrayEquals(value(round, i), bytes(view));
  }

  private static byte[] bytes(ByteBuffer view) {
    byte[] bytes = new byte[view.remaining()];
    view.duplicate().get(bytes);
    return bytes;
  }

  private static byte[] key(int i) {
    return String.format("key%06d", i).getBytes(UTF_8);
  }

  private static byte[] value(int round, int i) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(1_000_000L * round + i).nextBytes(value);
    return value;
  }
}
