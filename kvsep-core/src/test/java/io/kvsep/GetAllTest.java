package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code getAll} of more keys than are looked up in one group: their values beside their keys and
 * in the log, short, long and compressed, in memtables, tables and moved records; absent, deleted
 * and expired keys, and keys asked for twice.
 */
final class GetAllTest {
  private static final int KEYS = 300;
  private static final int CALLS = 40;

  /** More than a call takes that stays in the epochs. */
  private static final int MANY = 1_100;

  /** Beside the key, in the log, longer than what is touched at once. */
  private static final int[] VALUE_BYTES = {0, 100, 1_000, 5_000, 100_000};

  @TempDir Path parent;

  @Test
  void findsWhatIsThere() {
    Seeds.each(GetAllTest.class, 3, this::run);
  }

  private void run(Random random) throws IOException {
    Path directory = Files.createTempDirectory(parent, "store");
    ManualClock clock = new ManualClock(1_000_000);
    KvOptions options =
        KvOptions.builder()
            .memoryBudgetBytes(16 << 20)
            .segmentBytes(2 << 20)
            .spaceAmplificationMax(100)
            .clock(clock)
            .build();
    TreeMap<String, byte[]> model = new TreeMap<>();
    try (KvStore store = KvStore.open(directory, options)) {
      change(store, model, random, clock);
      compare(store, model, random, "in memtables");
      store.flush();
      compare(store, model, random, "in tables");
      change(store, model, random, clock);
      compare(store, model, random, "in both");
      assertTrue(store.reclaim().bytesWritten() > 0, "nothing was moved");
      compare(store, model, random, "moved");
    }
    try (KvStore store = KvStore.open(directory, options)) {
      compare(store, model, random, "opened again");
    }
  }

  /** Puts and deletes half as many keys as there are; one in five puts has expired in the end. */
  private static void change(
      KvStore store, TreeMap<String, byte[]> model, Random random, ManualClock clock) {
    for (int i = 0; i < KEYS / 2; i++) {
      String name = name(random);
      int what = random.nextInt(10);
      if (what == 0) {
        store.delete(name.getBytes(UTF_8));
        model.remove(name);
      } else if (what <= 2) {
        store.put(name.getBytes(UTF_8), value(random), Duration.ofMillis(1));
        model.remove(name);
      } else {
        byte[] value = value(random);
        store.put(name.getBytes(UTF_8), value);
        model.put(name, value);
      }
    }
    clock.advance(10);
  }

  private static byte[] value(Random random) {
    byte[] value = new byte[VALUE_BYTES[random.nextInt(VALUE_BYTES.length)]];
    if (random.nextBoolean()) {
      random.nextBytes(value);
    }
    return value;
  }

  private static String name(Random random) {
    return "key-%04d".formatted(random.nextInt(KEYS));
  }

  private static void compare(
      KvStore store, TreeMap<String, byte[]> model, Random random, String where) {
    for (int call = 0; call < CALLS; call++) {
      List<String> names = new ArrayList<>();
      List<byte[]> keys = new ArrayList<>();
      for (int i = call == 0 ? MANY : random.nextInt(100); i > 0; i--) {
        String name = name(random);
        names.add(name);
        keys.add(name.getBytes(UTF_8));
      }
      List<byte @Nullable []> values = store.getAll(keys);
      assertEquals(keys.size(), values.size(), where);
      for (int i = 0; i < names.size(); i++) {
        String message = "key " + i + " of " + names.size() + " " + where + ": " + names.get(i);
        assertArrayEquals(model.get(names.get(i)), values.get(i), message);
      }
    }
  }
}
