package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.StressSpace.Bounds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/** One reading thread of a stress run. Everything it finds is checked. */
final class StressReader {
  private static final int HELD_MAX = 2;

  /** One space in a snapshot that stays open, and what was found in it at first. */
  private record Content(StressSpace space, KvReader reader, long[] versions) {}

  private record Held(Snapshot snapshot, List<Content> contents) {}

  private final StressModel model;
  private final int number;
  private final Random random;
  private final List<Held> held = new ArrayList<>();

  StressReader(StressModel model, int number, long seed) {
    this.model = model;
    this.number = number;
    this.random = new Random(seed);
  }

  void step(KvStore store) {
    int dice = random.nextInt(100);
    if (dice < 50) {
      get(store, model.anySpace(random));
    } else if (dice < 64) {
      getAll(store, model.anySpace(random));
    } else if (dice < 70) {
      getWhole(store);
    } else if (dice < 73) {
      model.checkCounter(store, random.nextInt(StressModel.COUNTERS));
    } else if (dice < 80) {
      scan(store, model.anySpace(random));
    } else if (dice < 90) {
      moveAbout(store, model.anySpace(random));
    } else if (held.isEmpty() || dice < 94) {
      takeSnapshot(store);
    } else {
      scanAgain();
    }
  }

  /** Snapshots of a store that is closed are of no use. */
  void forget() {
    held.forEach(one -> one.snapshot().close());
    held.clear();
  }

  private void get(KvStore store, StressSpace space) {
    int index = random.nextInt(space.keyCount);
    byte[] key = StressSpace.key(index);
    KvReader reader = space.reader(store);
    long floor = space.acknowledged(index);
    if (random.nextInt(4) == 0) {
      boolean[] present = new boolean[1];
      if (!space.isDropped(() -> present[0] = reader.contains(key))) {
        space.checkPresence(index, floor, present[0]);
      }
    } else {
      long[] version = new long[1];
      if (!space.isDropped(() -> version[0] = read(space, reader, index, key))) {
        space.check(number, index, floor, version[0]);
      }
    }
    model.count("gets");
  }

  private long read(StressSpace space, KvReader reader, int index, byte[] key) {
    switch (random.nextInt(3)) {
      case 0 -> {
        return version(space, index, reader.get(key));
      }
      case 1 -> {
        Long version = reader.read(key, value -> space.version(index, value));
        return version == null ? 0 : version;
      }
      default -> {
        Bytes<byte[]> target = Bytes.allocateElasticOnHeap(64);
        long length = reader.get(Bytes.wrapForRead(key), target);
        return length < 0 ? 0 : version(space, index, target.toByteArray());
      }
    }
  }

  private static long version(StressSpace space, int index, byte @Nullable [] value) {
    return value == null ? 0 : space.version(index, ByteBuffer.wrap(value));
  }

  private void getAll(KvStore store, StressSpace space) {
    int[] indexes = random.ints(random.nextInt(1, 20), 0, space.keyCount).toArray();
    long[] floors = space.floors();
    List<byte @Nullable []> values = new ArrayList<>();
    KvReader reader = space.reader(store);
    List<byte[]> keys = Arrays.stream(indexes).mapToObj(StressSpace::key).toList();
    if (!space.isDropped(() -> values.addAll(reader.getAll(keys)))) {
      for (int i = 0; i < indexes.length; i++) {
        long version = version(space, indexes[i], values.get(i));
        space.check(number, indexes[i], floors[indexes[i]], version);
      }
    }
    model.count("getAlls");
  }

  /** The first and the last key of a band are written together. */
  private void getWhole(KvStore store) {
    StressSpace space = model.anyLasting(random);
    int first = random.nextInt(StressModel.WRITERS) * StressSpace.BAND;
    int last = first + StressSpace.BAND - 1;
    long floor = space.acknowledged(last);
    List<byte @Nullable []> values =
        space.reader(store).getAll(List.of(StressSpace.key(first), StressSpace.key(last)));
    long version = version(space, first, values.get(0));
    assertEquals(version, version(space, last, values.get(1)), "half a batch in a getAll");
    space.check(number, last, floor, version);
    model.count("getAlls");
  }

  /** Everything in one space, of the moment at which the cursor was made. */
  private void scan(KvStore store, StressSpace space) {
    boolean reverse = random.nextBoolean();
    KvReader reader = space.reader(store);
    long[] floors = space.floors();
    KvCursor[] made = new KvCursor[1];
    if (space.isDropped(() -> made[0] = reader.cursor(options(space, reverse)))) {
      return;
    }
    Bounds bounds = space.bounds(floors);
    try (KvCursor cursor = made[0]) {
      check(space, bounds, walk(space, cursor, reverse));
    }
    model.count("scans");
  }

  private ScanOptions options(StressSpace space, boolean reverse) {
    ScanOptions options = reverse ? space.everything().reverse() : space.everything();
    return random.nextInt(3) == 0 ? options.prefetch(random.nextInt(20)) : options;
  }

  private void check(StressSpace space, Bounds bounds, long[] versions) {
    for (int index = 0; index < versions.length; index++) {
      space.check(number, index, bounds, versions[index]);
    }
  }

  /** The versions that a new cursor finds, from one end to the other, or the other way round. */
  private long[] walk(StressSpace space, KvCursor cursor, boolean reverse) {
    long[] versions = new long[space.keyCount];
    boolean back = random.nextInt(3) == 0;
    boolean ascending = reverse == back;
    int before = ascending ? -1 : space.keyCount;
    while (back ? cursor.previous() : cursor.next()) {
      int index = StressSpace.index(cursor.key());
      assertTrue(ascending ? index > before : index < before, "order of a scan");
      before = index;
      versions[index] = version(space, cursor, index);
    }
    return versions;
  }

  private static long version(StressSpace space, KvCursor cursor, int index) {
    ByteBuffer value = cursor.valueView();
    assertEquals(value.remaining(), cursor.valueLength());
    long version = space.version(index, value);
    assertEquals(space.expires(index, version), cursor.expiresAtMillis().isPresent(), "expiry");
    return version;
  }

  /** Steps and seeks in all directions find the same every time. */
  private void moveAbout(KvStore store, StressSpace space) {
    boolean reverse = random.nextBoolean();
    KvReader reader = space.reader(store);
    long[] floors = space.floors();
    KvCursor[] made = new KvCursor[1];
    if (space.isDropped(() -> made[0] = reader.cursor(options(space, reverse)))) {
      return;
    }
    Bounds bounds = space.bounds(floors);
    long[] versions = new long[space.keyCount];
    try (KvCursor cursor = made[0]) {
      for (int i = random.nextInt(60); i > 0; i--) {
        if (move(space, cursor, reverse)) {
          int index = StressSpace.index(cursor.key());
          long version = version(space, cursor, index);
          if (versions[index] == 0) {
            versions[index] = version;
            space.check(number, index, bounds, version);
          }
          assertEquals(versions[index], version, "a cursor that found something else than before");
        }
      }
    }
    model.count("walks");
  }

  private boolean move(StressSpace space, KvCursor cursor, boolean reverse) {
    int move = random.nextInt(8);
    if (move < 3) {
      return cursor.next();
    }
    if (move < 6) {
      return cursor.previous();
    }
    int target = random.nextInt(space.keyCount);
    byte[] key = StressSpace.key(target);
    boolean floor = move == 6;
    boolean found = floor ? cursor.seekFloor(key) : cursor.seek(key);
    if (found) {
      int index = StressSpace.index(cursor.key());
      assertTrue(floor == reverse ? index >= target : index <= target, "a seek past its target");
    }
    return found;
  }

  /** All spaces at one moment, twice over; some snapshots are kept to be read again. */
  private void takeSnapshot(KvStore store) {
    List<StressSpace> spaces = model.allSpaces();
    List<long[]> floors = new ArrayList<>();
    List<Boolean> droppedBefore = new ArrayList<>();
    for (StressSpace space : spaces) {
      droppedBefore.add(space.dropped);
      floors.add(space.floors());
    }
    Snapshot snapshot = store.snapshot();
    Held taken = new Held(snapshot, new ArrayList<>());
    held.add(taken);
    List<Bounds> bounds = new ArrayList<>();
    List<Boolean> droppingAfter = new ArrayList<>();
    for (int i = 0; i < spaces.size(); i++) {
      bounds.add(spaces.get(i).bounds(floors.get(i)));
      droppingAfter.add(spaces.get(i).dropping);
    }
    for (int i = 0; i < spaces.size(); i++) {
      StressSpace space = spaces.get(i);
      KvReader reader;
      try {
        reader = space.reader(snapshot);
      } catch (IllegalStateException e) {
        if (!droppingAfter.get(i)) {
          throw new AssertionError("refused, but no thread has dropped it before", e);
        }
        continue;
      }
      assertFalse(droppedBefore.get(i), "a dropped keyspace in a later snapshot");
      long[] versions = versions(space, reader);
      taken.contents().add(new Content(space, reader, versions));
      boolean empty = Arrays.stream(versions).allMatch(version -> version == 0);
      if (!droppingAfter.get(i) || !empty) {
        check(space, bounds.get(i), versions);
      }
    }
    StressModel.checkWhole(
        taken.contents().subList(0, model.lasting.size()).stream().map(Content::versions).toList());
    scan(taken);
    model.count("snapshots");
    if (held.size() > HELD_MAX) {
      held.remove(random.nextInt(held.size())).snapshot().close();
    }
  }

  private long[] versions(StressSpace space, KvReader reader) {
    boolean reverse = random.nextBoolean();
    try (KvCursor cursor = reader.cursor(options(space, reverse))) {
      return walk(space, cursor, reverse);
    }
  }

  private void scanAgain() {
    scan(held.get(random.nextInt(held.size())));
  }

  /** What a snapshot shows stays as it was, whatever was written, dropped or rewritten since. */
  private void scan(Held snapshot) {
    for (Content content : snapshot.contents()) {
      long[] again = versions(content.space(), content.reader());
      assertArrayEquals(content.versions(), again, "a snapshot that moved");
      int index = random.nextInt(again.length);
      byte[] value = content.reader().get(StressSpace.key(index));
      assertEquals(again[index], version(content.space(), index, value), "a get in a snapshot");
    }
    model.count("snapshot scans");
  }

  /** A store at rest, by cursors and by single reads. */
  void checkAll(KvStore store) {
    model.settleCounters(store);
    takeSnapshot(store);
    for (StressSpace space : model.allSpaces()) {
      List<byte[]> keys = new ArrayList<>();
      for (int index = 0; index < space.keyCount; index++) {
        keys.add(StressSpace.key(index));
      }
      List<byte @Nullable []> values = space.reader(store).getAll(keys);
      for (int index = 0; index < space.keyCount; index++) {
        space.check(
            number, index, space.acknowledged(index), version(space, index, values.get(index)));
      }
    }
    forget();
  }
}
