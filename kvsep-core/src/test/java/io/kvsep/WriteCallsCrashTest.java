package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.CrashPromise;
import io.kvsep.internal.engine.CrashSweep;
import io.kvsep.internal.engine.CrashSweep.CrashPoint;
import io.kvsep.internal.engine.CrashSweep.Effort;
import io.kvsep.internal.engine.OptionSet;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.StoreContent;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Sample;
import io.kvsep.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The public calls that write and are not steps of {@link io.kvsep.internal.engine.CrashSweepTest},
 * with the power failing at each storage operation: each call happens as a whole or not at all, in
 * order.
 */
final class WriteCallsCrashTest {
  private static final Effort EXHAUSTIVE = new Effort(100, 20, 40, 60, 4);
  private static final Effort EFFORT = Sample.EXHAUSTIVE ? EXHAUSTIVE : EXHAUSTIVE.choosing(4, 2);

  private static final int RUNS = 100;

  /** Of a short run. */
  private static final int DRAWN = 4;

  private static final int STEPS = 14;
  private static final int KEYS = 5;
  private static final long NOW_MILLIS = 1_000;

  /** A run makes each call at least once. */
  private enum Call {
    COMPUTE,
    EXPIRE,
    COMPARE_AND_SET,
    COMPARE_AND_DELETE,
    BUFFER,
    LOAD,
    KEYSPACES,
    SYNC
  }

  private static final class Run {
    final Random random;
    final CrashableStorage storage = new CrashableStorage();
    final OpenStore store;
    final List<CrashPoint> points = new ArrayList<>();

    /** What each call leaves, in their order. */
    final List<StoreContent> order = new ArrayList<>(List.of(StoreContent.EMPTY));

    /** By keyspace and key. */
    final TreeMap<String, byte[]> values = new TreeMap<>();

    /** The last of {@link #order} that is synced. */
    int synced;

    /** Includes those that a call is creating. */
    final TreeSet<String> names = new TreeSet<>();

    Set<String> printed = Set.of("");
    int number;

    Run(long seed, OptionSet options) {
      random = new Random(seed);
      ManualScheduler scheduler = new ManualScheduler(seed, 1);
      store =
          new OpenStore(
              StorageEngine.open(options.config(storage, new ManualClock(NOW_MILLIS), scheduler)));
      storage.watch(this::note);
    }

    void go() {
      keyspaces();
      List<Call> calls = new ArrayList<>(List.of(Call.values()));
      while (calls.size() < STEPS) {
        calls.add(Call.values()[random.nextInt(Call.values().length)]);
      }
      Collections.shuffle(calls, random);
      calls.forEach(this::call);
      storage.watch(null);
      note(storage.moment());
    }

    private void note(CrashableStorage moment) {
      List<StoreContent> allowed = order.subList(synced, order.size());
      points.add(new CrashPoint(moment, new CrashPromise(NOW_MILLIS, allowed, printed)));
    }

    private void call(Call call) {
      int id = random.nextInt(3);
      KvView view = id == 0 ? store : store.in(store.keyspace("space-" + id));
      String key = "key-" + random.nextInt(KEYS);
      byte[] value = value();
      byte @Nullable [] now = values.get(id + "/" + key);
      switch (call) {
        case COMPUTE -> {
          boolean deletes = now != null && random.nextBoolean();
          expect(deletes ? without(id, key) : with(id, key, value, Long.MAX_VALUE));
          view.compute(bytes(key), old -> deletes ? null : value);
        }
        case EXPIRE -> {
          if (now != null) {
            expect(with(id, key, now, NOW_MILLIS + 500));
          }
          assertEquals(now != null, view.expire(bytes(key), Duration.ofMillis(500)));
        }
        case COMPARE_AND_SET -> {
          expect(with(id, key, value, Long.MAX_VALUE));
          assertTrue(keyspaceView(id).compareAndSet(bytes(key), now, value));
        }
        case COMPARE_AND_DELETE -> {
          if (now != null) {
            expect(without(id, key));
          }
          boolean deleted =
              keyspaceView(id).compareAndDelete(bytes(key), now == null ? value : now);
          assertEquals(now != null, deleted);
        }
        case BUFFER -> commitBuffer();
        case LOAD -> load(id);
        case KEYSPACES -> keyspaces();
        case SYNC -> {
          store.sync();
          synced = order.size() - 1;
        }
      }
      byte @Nullable [] expected = values.get(id + "/" + key);
      assertArrayEquals(expected, view.get(bytes(key)));
    }

    private KeyspaceView keyspaceView(int id) {
      return id == 0 ? store : store.in(store.keyspace("space-" + id));
    }

    /** Several keyspaces and a batch in one commit. */
    private void commitBuffer() {
      try (WriteBuffer buffer = store.buffer()) {
        StoreContent next = latest();
        for (int i = 0; i < 6; i++) {
          int id = i % 3;
          KvView view = id == 0 ? buffer : buffer.in(store.keyspace("space-" + id));
          String key = "key-" + random.nextInt(KEYS);
          byte[] value = value();
          view.put(bytes(key), value);
          values.put(id + "/" + key, value);
          next = next.with(id, key, value, Long.MAX_VALUE);
        }
        byte[] value = value();
        WriteBatch extra = new WriteBatch();
        extra.put(bytes("extra"), value);
        values.put("0/extra", value);
        expect(next.with(0, "extra", value, Long.MAX_VALUE));
        buffer.commit(extra);
      }
    }

    /** Durable on return, and so is everything before it. */
    private void load(int id) {
      List<Map.Entry<byte[], byte[]>> entries = new ArrayList<>();
      StoreContent next = latest();
      for (int i = 0; i < KEYS; i++) {
        byte[] value = value();
        entries.add(Map.entry(bytes("key-" + i), value));
        values.put(id + "/key-" + i, value);
        next = next.with(id, "key-" + i, value, Long.MAX_VALUE);
      }
      expect(next);
      keyspaceView(id).bulkLoad(entries.iterator());
      synced = order.size() - 1;
    }

    /** Two more keyspaces at once, up to four. */
    private void keyspaces() {
      List<String> wanted = new ArrayList<>();
      for (int i = 0; i < 2 && names.size() < 4; i++) {
        String name = "space-" + (names.size() + 1);
        names.add(name);
        wanted.add(name);
      }
      String before = printed.iterator().next();
      String after = printedNames();
      printed = before.equals(after) ? Set.of(before) : Set.of(before, after);
      store.keyspaces(wanted);
      printed = Set.of(after);
      assertEquals(List.copyOf(names), store.keyspaces());
    }

    private String printedNames() {
      StringBuilder text = new StringBuilder();
      names.forEach(name -> text.append(name).append('#').append(name.substring(6)).append(' '));
      return text.toString();
    }

    private StoreContent latest() {
      return order.get(order.size() - 1);
    }

    private void expect(StoreContent next) {
      order.add(next);
    }

    private StoreContent with(int id, String key, byte[] value, long expiresAtMillis) {
      values.put(id + "/" + key, value);
      return latest().with(id, key, value, expiresAtMillis);
    }

    private StoreContent without(int id, String key) {
      values.remove(id + "/" + key);
      return latest().without(id, key);
    }

    private byte[] value() {
      byte[] value = new byte[random.nextInt(4) == 0 ? 1_300 : 20 + random.nextInt(100)];
      random.nextBytes(value);
      value[0] = (byte) number++;
      return value;
    }

    private static byte[] bytes(String text) {
      return text.getBytes(UTF_8);
    }
  }

  @Test
  void eachCallIsWholeAfterEveryCrash() {
    Seeds.some(
        WriteCallsCrashTest.class,
        "eachCallIsWholeAfterEveryCrash",
        RUNS,
        DRAWN,
        seed -> {
          OptionSet options = OptionSet.values()[(int) (seed % OptionSet.values().length)];
          Run run = new Run(seed, options);
          try {
            run.go();
          } finally {
            run.store.close();
          }
          CrashSweep sweep = new CrashSweep(EFFORT);
          sweep.crash(options + ", calls of seed " + seed, options, run.points, seed);
          sweep.failures().report();
          assertTrue(sweep.states() > run.points.size(), "only " + sweep.states());
        });
  }
}
