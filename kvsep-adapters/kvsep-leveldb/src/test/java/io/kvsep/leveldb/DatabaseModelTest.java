package io.kvsep.leveldb;

import static io.kvsep.leveldb.KvsepDBFactory.factory;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Random calls, each compared with a sorted map. */
final class DatabaseModelTest {
  private static final int STEPS = 1000;
  private static final int SNAPSHOTS_MAX = 4;

  @TempDir Path folder;

  /** A snapshot and what it sees. */
  private record View(Snapshot snapshot, TreeMap<byte[], byte[]> content) {}

  private final Options options = new Options().writeBufferSize(100_000);
  private final List<View> views = new ArrayList<>();
  private final TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
  private DB db;
  private Random random = new Random(0);

  /** The key drawn last. */
  private byte[] key = {};

  static List<Long> seeds() {
    Long asked = Long.getLong("kvsep.seed");
    return asked == null ? List.of(1L, 2L, 3L) : List.of(asked);
  }

  @BeforeEach
  void open() throws IOException {
    db = factory.open(folder.toFile(), options);
  }

  @AfterEach
  void close() throws IOException {
    db.close();
  }

  @ParameterizedTest(name = "-Dkvsep.seed={0}")
  @MethodSource("seeds")
  void behavesAsASortedMap(long seed) throws IOException {
    random = new Random(seed);
    for (int step = 0; step < STEPS; step++) {
      try {
        step();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed " + seed + ", step " + step, e);
      }
    }
  }

  private void step() throws IOException {
    switch (random.nextInt(16)) {
      case 0, 1, 2, 3, 4 -> put();
      case 5, 6 -> delete();
      case 7, 8 -> batch();
      case 9, 10 -> assertArrayEquals(model.get(drawnKey()), db.get(key));
      case 11, 12 -> walk();
      case 13 -> snapshot();
      case 14 -> readSnapshot();
      default -> rarely();
    }
  }

  /** Few different keys; some begin with others. */
  private byte[] drawnKey() {
    key = new byte[1 + random.nextInt(3)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(5) * 63);
    }
    return key;
  }

  private byte[] value() {
    byte[] value = new byte[random.nextInt(random.nextInt(10) == 0 ? 20_000 : 300)];
    random.nextBytes(value);
    return value;
  }

  private WriteOptions writing(boolean snapshot) {
    return new WriteOptions().sync(random.nextInt(8) == 0).snapshot(snapshot);
  }

  private void put() throws IOException {
    byte[] value = value();
    boolean asked = random.nextInt(8) == 0;
    Snapshot after = db.put(drawnKey(), value, writing(asked));
    model.put(key, value);
    keep(after, asked);
  }

  private void delete() throws IOException {
    boolean asked = random.nextInt(8) == 0;
    Snapshot after = db.delete(drawnKey(), writing(asked));
    model.remove(key);
    keep(after, asked);
  }

  private void batch() throws IOException {
    boolean asked = random.nextInt(8) == 0;
    try (WriteBatch batch = db.createWriteBatch()) {
      for (int i = random.nextInt(20); i > 0; i--) {
        if (random.nextInt(3) == 0) {
          batch.delete(drawnKey());
          model.remove(key);
        } else {
          byte[] value = value();
          batch.put(drawnKey(), value);
          model.put(key, value);
        }
      }
      keep(db.write(batch, writing(asked)), asked);
    }
  }

  private void keep(Snapshot after, boolean asked) throws IOException {
    assertEquals(asked, after != null);
    if (after != null) {
      keep(new View(after, new TreeMap<>(model)));
    }
  }

  private void keep(View view) throws IOException {
    views.add(view);
    if (views.size() > SNAPSHOTS_MAX) {
      views.remove(random.nextInt(views.size())).snapshot().close();
    }
  }

  private void snapshot() throws IOException {
    keep(new View(db.getSnapshot(), new TreeMap<>(model)));
  }

  private void readSnapshot() throws IOException {
    if (!views.isEmpty()) {
      View view = views.get(random.nextInt(views.size()));
      ReadOptions reading = new ReadOptions().snapshot(view.snapshot());
      assertArrayEquals(view.content().get(drawnKey()), db.get(key, reading));
      try (DBIterator iterator = db.iterator(reading)) {
        walk(iterator, view.content());
      }
    }
  }

  private void rarely() throws IOException {
    switch (random.nextInt(12)) {
      case 0 -> {
        for (View view : views) {
          view.snapshot().close();
        }
        views.clear();
        db.close();
        open();
      }
      case 1 -> db.compactRange(null, null);
      case 2 -> KvsepDBFactory.store(db).flush();
      default -> walk();
    }
  }

  private void walk() throws IOException {
    try (DBIterator iterator = db.iterator()) {
      TreeMap<byte[], byte[]> then = new TreeMap<>(model);
      put();
      walk(iterator, then);
    }
  }

  /** Steps in both directions; {@code next} is the first key after the iterator's place. */
  private void walk(DBIterator iterator, NavigableMap<byte[], byte[]> content) {
    Map.Entry<byte[], byte[]> next = content.firstEntry();
    for (int i = random.nextInt(60); i > 0; i--) {
      Map.Entry<byte[], byte[]> previous =
          next == null ? content.lastEntry() : content.lowerEntry(next.getKey());
      assertEquals(next != null, iterator.hasNext());
      if (random.nextBoolean()) {
        assertEquals(previous != null, iterator.hasPrev());
      }
      int move = random.nextInt(20);
      if (move == 0) {
        iterator.seekToFirst();
        next = content.firstEntry();
      } else if (move == 1) {
        iterator.seekToLast();
        next = null;
      } else if (move < 4) {
        iterator.seek(drawnKey());
        next = content.ceilingEntry(key);
      } else if (move < 12 && next != null) {
        assertSame(next, move < 6 ? iterator.peekNext() : iterator.next());
        next = move < 6 ? next : content.higherEntry(next.getKey());
      } else if (move >= 12 && previous != null) {
        assertSame(previous, move < 14 ? iterator.peekPrev() : iterator.prev());
        next = move < 14 ? next : previous;
      }
    }
  }

  private static void assertSame(
      Map.Entry<byte[], byte[]> expected, Map.Entry<byte[], byte[]> actual) {
    assertNotNull(actual);
    assertArrayEquals(expected.getKey(), actual.getKey());
    assertArrayEquals(expected.getValue(), actual.getValue());
  }
}
