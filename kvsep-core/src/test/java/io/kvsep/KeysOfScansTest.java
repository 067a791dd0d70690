package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.kvsep.testing.ModelState.Cell;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Keys that begin alike, are each other's beginnings, and end at or beside the bounds of a scan: a
 * cursor puts together each key from the one before, and compares with its bound only what may have
 * reached it. In several tables and memtables, with older versions, deletes, writes that a snapshot
 * does not see, and writes of a transaction on top.
 */
final class KeysOfScansTest {
  private static final String LETTERS = "\u0000a\u00ff";
  private static final int LENGTH_MAX = 4;
  private static final int SCANS = 60;
  private static final int MOVES = 40;
  private static final byte[] VALUE = {1};

  @TempDir Path parent;

  @Test
  void keysAreThoseOfTheModelWithinAnyBounds() {
    Seeds.some(KeysOfScansTest.class, 30, 2, this::run);
  }

  private void run(Random random) throws IOException {
    KvOptions options = KvOptions.builder().memoryBudgetBytes(16 << 20).build();
    String beginning = "p".repeat(random.nextInt(2) * random.nextInt(200));
    NavigableMap<byte[], Cell> model = newModel();
    try (KvStore store = KvStore.open(Files.createTempDirectory(parent, "store"), options)) {
      KvView before = store.in(store.keyspace("before"));
      Keyspace keyspace = store.keyspace("scanned");
      KvView view = store.in(keyspace);
      KvView after = store.in(store.keyspace("after"));
      for (int round = 0; round < 4; round++) {
        change(before, newModel(), random, beginning);
        change(view, model, random, beginning);
        change(after, newModel(), random, beginning);
        try (Snapshot snapshot = store.snapshot()) {
          NavigableMap<byte[], Cell> seen = newModel();
          seen.putAll(model);
          change(view, model, random, beginning);
          compare(snapshot.in(keyspace), seen, random, beginning);
        }
        compare(view, model, random, beginning);
        compareWithOwnWrites(store, keyspace, model, random, beginning);
        if (random.nextBoolean()) {
          store.flush();
          compare(view, model, random, beginning);
        }
      }
      store.compact();
      compare(view, model, random, beginning);
    }
  }

  private static void compareWithOwnWrites(
      KvStore store,
      Keyspace keyspace,
      NavigableMap<byte[], Cell> model,
      Random random,
      String beginning) {
    try (Transaction transaction = store.begin()) {
      NavigableMap<byte[], Cell> seen = newModel();
      seen.putAll(model);
      KvView view = transaction.in(keyspace);
      change(view, seen, random, beginning);
      compare(view, seen, random, beginning);
    }
  }

  private static void change(
      KvWriter writer, NavigableMap<byte[], Cell> model, Random random, String beginning) {
    for (int i = 0; i < 120; i++) {
      byte[] key = key(random, beginning);
      int choice = random.nextInt(20);
      if (choice == 0) {
        byte[] to = key(random, beginning);
        writer.deleteRange(key, to);
        if (Arrays.compareUnsigned(key, to) < 0) {
          model.subMap(key, to).clear();
        }
      } else if (choice < 5) {
        writer.delete(key);
        model.remove(key);
      } else {
        writer.put(key, VALUE);
        model.put(key, new Cell(VALUE, Long.MAX_VALUE));
      }
    }
  }

  private static void compare(
      KvReader reader, NavigableMap<byte[], Cell> model, Random random, String beginning) {
    for (int scan = 0; scan < SCANS; scan++) {
      byte[] from = bound(random, beginning);
      byte[] to = bound(random, beginning);
      NavigableMap<byte[], Cell> within = model;
      if (from != null) {
        within = within.tailMap(from, true);
      }
      if (to != null) {
        boolean empty = from != null && Arrays.compareUnsigned(from, to) >= 0;
        within = empty ? newModel() : within.headMap(to, false);
      }
      boolean reverse = random.nextInt(4) == 0;
      ScanOptions options = ScanOptions.range(from, to);
      List<Map.Entry<byte[], Cell>> expected =
          new ArrayList<>((reverse ? within.descendingMap() : within).entrySet());
      StoreModelCursor.Look look = new StoreModelCursor.Look(reverse, false, Long.MAX_VALUE);
      KvCursor cursor = reader.cursor(reverse ? options.reverse() : options);
      try (StoreModelCursor walked = new StoreModelCursor(cursor, expected, look)) {
        if (random.nextBoolean()) {
          for (int i = 0; i <= expected.size(); i++) {
            walked.forward();
          }
        }
        for (int i = 0; i < MOVES; i++) {
          walked.anywhere(random, () -> key(random, beginning));
        }
      }
    }
  }

  private static byte @Nullable [] bound(Random random, String beginning) {
    return random.nextInt(4) == 0 ? null : key(random, beginning);
  }

  private static byte[] key(Random random, String beginning) {
    StringBuilder key = new StringBuilder(beginning);
    int letters = 1 + random.nextInt(LENGTH_MAX);
    for (int i = 0; i < letters; i++) {
      key.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
    }
    return key.toString().getBytes(ISO_8859_1);
  }

  private static NavigableMap<byte[], Cell> newModel() {
    return new TreeMap<>(Arrays::compareUnsigned);
  }
}
