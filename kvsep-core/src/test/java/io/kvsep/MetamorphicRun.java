package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.MetamorphicHistory.Call;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A history under some options, by the public calls; collects every answer. Not thread safe. */
final class MetamorphicRun {
  private static final String[] NAMES = {"a", "b", "users"};
  private static final int KEYS = 60;

  /** Who is asked: the store or a snapshot of it, and there itself or one of its keyspaces. */
  private record Place(KvReader reader, KvWriter writer, int number) {}

  private final MetamorphicOptions options;
  private final ManualClock clock = new ManualClock(1_000_000);
  private final TreeMap<String, Keyspace> spaces = new TreeMap<>();
  private final List<Snapshot> snapshots = new ArrayList<>();

  /** The keyspaces that a snapshot has, for each of them. */
  private final List<TreeMap<String, Keyspace>> snapshotSpaces = new ArrayList<>();

  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler;
  private StorageEngine engine;
  private KvStore store;

  private MetamorphicRun(MetamorphicOptions options) {
    this.options = options;
    scheduler = new ManualScheduler(5, 2);
    engine = StorageEngine.open(options.config(storage, clock, scheduler));
    store = new OpenStore(engine);
  }

  /** One answer for each call; nothing of the engine is left behind. */
  static List<String> answers(MetamorphicOptions options, List<Call> calls) {
    List<String> answers = new ArrayList<>();
    collect(options, calls, answers);
    return answers;
  }

  /** As {@link #answers}, into a list that has what there was when an error ended it. */
  static void collect(MetamorphicOptions options, List<Call> calls, List<String> answers) {
    MetamorphicRun run = new MetamorphicRun(options);
    boolean ended = false;
    try {
      for (int i = 0; i < calls.size(); i++) {
        answers.add(run.answer(calls.get(i)));
        if (options.backgroundInterval() > 0 && i % options.backgroundInterval() == 0) {
          run.scheduler.tick();
          run.scheduler.runAll();
        }
      }
      answers.add(run.everything());
      ended = true;
    } finally {
      run.snapshots.clear();
      if (ended) {
        run.store.close();
      } else {
        run.abandon();
      }
    }
    assertEquals(0, run.engine.memoryBytes(), "off-heap bytes after close");
    assertEquals(List.of(), run.storage.openFiles(), "open files after close");
  }

  private String answer(Call call) {
    Random random = call.random();
    return switch (call.kind()) {
      case PUT -> {
        place(random).writer().put(key(random), value(random));
        yield "";
      }
      case PUT_EXPIRING -> {
        Duration timeToLive = Duration.ofMillis(1 + random.nextInt(100));
        place(random).writer().put(key(random), value(random), timeToLive);
        yield "";
      }
      case DELETE -> {
        place(random).writer().delete(key(random));
        yield "";
      }
      case DELETE_RANGE -> {
        place(random).writer().deleteRange(key(random), key(random));
        yield "";
      }
      case BATCH -> batch(random);
      case COMPARE_AND_SET -> compareAndSet(random);
      case GET, GET_ALL, SCAN, SEEK, COUNT -> read(call, random);
      case KEYSPACE -> {
        String name = NAMES[random.nextInt(NAMES.length)];
        spaces.put(name, store.keyspace(name));
        yield store.keyspaces().toString();
      }
      case DROP -> {
        Keyspace gone = spaces.remove(NAMES[random.nextInt(NAMES.length)]);
        if (gone != null) {
          store.dropKeyspace(gone);
          snapshotSpaces.forEach(held -> held.values().remove(gone));
        }
        yield store.keyspaces().toString();
      }
      case NAMES -> store.keyspaces().toString();
      default -> maintain(call, random);
    };
  }

  private String maintain(Call call, Random random) {
    switch (call.kind()) {
      case SNAPSHOT -> {
        if (snapshots.size() < 3) {
          snapshots.add(store.snapshot());
          snapshotSpaces.add(new TreeMap<>(spaces));
        }
      }
      case RELEASE -> {
        if (!snapshots.isEmpty()) {
          int which = random.nextInt(snapshots.size());
          snapshots.remove(which).close();
          snapshotSpaces.remove(which);
        }
      }
      case ADVANCE -> clock.advance(random.nextInt(60));
      case SYNC -> store.sync();
      case FLUSH -> store.flush();
      case COMPACT -> store.compact();
      case RECLAIM -> store.reclaim();
      case PAUSE -> pause();
      default -> throw new IllegalArgumentException(call.toString());
    }
    return "";
  }

  private String read(Call call, Random random) {
    KvReader reader = reader(random);
    return switch (call.kind()) {
      case GET -> {
        byte[] key = key(random);
        yield text(reader.get(key)) + " " + reader.contains(key);
      }
      case GET_ALL -> {
        List<byte[]> keys = new ArrayList<>();
        for (int i = random.nextInt(30); i >= 0; i--) {
          keys.add(key(random));
        }
        StringBuilder text = new StringBuilder();
        reader.getAll(keys).forEach(value -> text.append(text(value)).append(' '));
        yield text.toString();
      }
      case SCAN -> scan(reader, scanOptions(random));
      case SEEK -> seek(reader, random);
      default -> {
        int count = 0;
        try (KvCursor cursor = reader.cursor(ScanOptions.all().keysOnly())) {
          while (cursor.next()) {
            count++;
          }
        }
        yield String.valueOf(count);
      }
    };
  }

  private static ScanOptions scanOptions(Random random) {
    ScanOptions scan =
        random.nextBoolean() ? ScanOptions.all() : ScanOptions.range(key(random), key(random));
    scan = random.nextBoolean() ? scan.reverse() : scan;
    scan = random.nextInt(4) == 0 ? scan.limit(random.nextInt(10)) : scan;
    return random.nextBoolean() ? scan.prefetch(random.nextInt(5)) : scan;
  }

  private static String scan(KvReader reader, ScanOptions scan) {
    StringBuilder text = new StringBuilder();
    try (KvCursor cursor = reader.cursor(scan)) {
      while (cursor.next()) {
        text.append(entry(cursor));
      }
    }
    return text.toString();
  }

  /** A cursor that moves about. */
  private static String seek(KvReader reader, Random random) {
    ScanOptions scan = random.nextBoolean() ? ScanOptions.all() : ScanOptions.all().reverse();
    StringBuilder text = new StringBuilder();
    try (KvCursor cursor = reader.cursor(scan)) {
      for (int i = random.nextInt(20); i >= 0; i--) {
        boolean found =
            switch (random.nextInt(5)) {
              case 0 -> cursor.seek(key(random));
              case 1 -> cursor.seekFloor(key(random));
              case 2 -> cursor.previous();
              default -> cursor.next();
            };
        text.append(found ? entry(cursor) : "- ");
      }
    }
    return text.toString();
  }

  private String batch(Random random) {
    WriteBatch batch = new WriteBatch();
    for (int i = random.nextInt(12); i >= 0; i--) {
      Keyspace space = spaces.get(NAMES[random.nextInt(NAMES.length)]);
      if (space == null || random.nextBoolean()) {
        batch.inDefault();
      } else {
        batch.in(space);
      }
      switch (random.nextInt(8)) {
        case 0 -> batch.deleteRange(key(random), key(random));
        case 1, 2 -> batch.delete(key(random));
        case 3 -> batch.put(key(random), value(random), Duration.ofMillis(1 + random.nextInt(80)));
        default -> batch.put(key(random), value(random));
      }
    }
    if (random.nextInt(4) == 0) {
      store.write(batch, Durability.sync());
    } else {
      store.write(batch);
    }
    return String.valueOf(batch.count());
  }

  private String compareAndSet(Random random) {
    byte[] key = key(random);
    byte[] now = store.get(key);
    byte[] expected = random.nextInt(3) > 0 ? now : value(random);
    boolean done =
        (expected != null && random.nextBoolean())
            ? store.compareAndDelete(key, expected)
            : store.compareAndSet(key, expected, value(random));
    return String.valueOf(done);
  }

  private void pause() {
    snapshots.forEach(Snapshot::close);
    snapshots.clear();
    snapshotSpaces.clear();
    switch (options.pause()) {
      case NOTHING -> {
        return;
      }
      case REOPEN -> {
        store.close();
        // The same files; what is pending stays pending.
        storage = storage.crashKeepingAll();
      }
      case KILL -> replace(storage.crashKeepingAll());
      case SYNC_AND_CRASH -> {
        store.sync();
        replace(storage.crashSyncedOnly());
      }
      case CRASH -> replace(storage.crashSyncedOnly());
    }
    scheduler = new ManualScheduler(5, 2);
    engine = StorageEngine.open(options.config(storage, clock, scheduler));
    store = new OpenStore(engine);
    spaces.clear();
    store.keyspaces().forEach(name -> spaces.put(name, store.keyspace(name)));
  }

  private void replace(CrashableStorage left) {
    abandon();
    storage = left;
  }

  private void abandon() {
    try {
      store.close();
    } catch (RuntimeException e) {
      // The storage refuses everything after its crash.
    }
    assertEquals(0, engine.memoryBytes(), "off-heap bytes after a crash");
  }

  /** All that a store can be asked at the end. */
  private String everything() {
    StringBuilder text = new StringBuilder();
    text.append(store.keyspaces()).append(scan(store, ScanOptions.all()));
    text.append(scan(store, ScanOptions.all().reverse()));
    for (Keyspace space : spaces.values()) {
      text.append(scan(store.in(space), ScanOptions.all()));
    }
    return text.toString();
  }

  /** Where to write: mostly the store itself. */
  private Place place(Random random) {
    int which = random.nextInt(2 * NAMES.length);
    Keyspace space = which < NAMES.length ? spaces.get(NAMES[which]) : null;
    if (space == null) {
      return new Place(store, store, 0);
    }
    KvView view = store.in(space);
    return new Place(view, view, 1 + which);
  }

  private KvReader reader(Random random) {
    Place place = place(random);
    if (snapshots.isEmpty() || random.nextBoolean()) {
      return place.reader();
    }
    int which = random.nextInt(snapshots.size());
    Keyspace space =
        place.number() == 0 ? null : snapshotSpaces.get(which).get(NAMES[place.number() - 1]);
    return space == null ? snapshots.get(which) : snapshots.get(which).in(space);
  }

  private static byte[] key(Random random) {
    int index = random.nextInt(KEYS);
    byte[] key = new byte[1 + index % 20];
    Arrays.fill(key, (byte) (index % 3 == 0 ? 0xff : 'k'));
    key[key.length - 1] = (byte) index;
    return key;
  }

  private static byte[] value(Random random) {
    int[] lengthsMax = {2, 80, 200, 400, 400, 5_000};
    byte[] value = new byte[random.nextInt(lengthsMax[random.nextInt(lengthsMax.length)])];
    if (random.nextBoolean()) {
      random.nextBytes(value);
    } else {
      Arrays.fill(value, (byte) random.nextInt(256));
    }
    return value;
  }

  private static String entry(KvCursor cursor) {
    String expiry = cursor.expiresAtMillis().isPresent() ? "@" + cursor.expiresAtMillis() : "";
    return HexFormat.of().formatHex(cursor.key()) + "=" + text(cursor.value()) + expiry + " ";
  }

  private static String text(byte @Nullable [] value) {
    return value == null ? "null" : value.length + ":" + Arrays.hashCode(value);
  }
}
