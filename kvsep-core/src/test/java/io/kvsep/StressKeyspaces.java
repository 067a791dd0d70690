package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** The only thread of a stress run that creates and drops keyspaces. */
final class StressKeyspaces {
  private final StressModel model;
  private final Random random;

  /** What the store was closed in the middle of: that keyspace may be there or not. */
  private @Nullable StressSpace making;

  private @Nullable StressSpace dropping;

  StressKeyspaces(StressModel model, long seed) {
    this.model = model;
    this.random = new Random(seed);
  }

  void step(KvStore store) {
    int slot = random.nextInt(StressModel.SLOTS);
    StressSpace space = model.passing.get(slot);
    if (space == null) {
      make(store, slot);
    } else if (random.nextInt(3) > 0) {
      drop(store, slot, space);
    } else {
      assertEquals(space.handle(), store.keyspace(space.name()));
    }
    assertEquals(names(), store.keyspaces());
  }

  private void make(KvStore store, int slot) {
    StressSpace space = model.newSpace("passing-" + slot);
    making = space;
    space.open(store);
    assertEmpty(space.reader(store));
    StressSpace gone = model.lastDropped;
    if (gone != null) {
      assertNotEquals(gone.handle(), space.handle());
    }
    model.passing.set(slot, space);
    making = null;
    model.count("keyspaces made");
  }

  private void drop(KvStore store, int slot, StressSpace space) {
    dropping = space;
    space.dropping = true;
    store.dropKeyspace(space.handle());
    space.dropped = true;
    model.passing.set(slot, null);
    model.lastDropped = space;
    dropping = null;
    assertRefused(() -> store.in(space.handle()));
    try (Snapshot snapshot = store.snapshot()) {
      assertRefused(() -> space.reader(snapshot));
    }
    model.count("keyspaces dropped");
  }

  /** A use of a dropped keyspace gets an error that says so, or that the store is closed. */
  private static void assertRefused(Runnable use) {
    try {
      use.run();
    } catch (IllegalStateException e) {
      return;
    }
    throw new AssertionError("a dropped keyspace can be used");
  }

  /** Looks up all keyspaces of a store that was just opened and has no other users yet. */
  void settle(KvStore store) {
    List<String> found = store.keyspaces();
    model.lastDropped = null;
    for (int slot = 0; slot < StressModel.SLOTS; slot++) {
      StressSpace space = model.passing.get(slot);
      if (space != null && space == dropping) {
        space.dropping = false;
        model.passing.set(slot, found.contains(space.name()) ? space : null);
      } else if (making != null && making.name().equals("passing-" + slot)) {
        model.passing.set(slot, found.contains(making.name()) ? making : null);
      }
    }
    dropping = null;
    making = null;
    if (!found.isEmpty()) {
      assertEquals(names(), found);
    }
    for (StressSpace space : model.allSpaces()) {
      space.open(store);
    }
    assertEquals(names(), store.keyspaces());
  }

  private List<String> names() {
    List<String> names = new ArrayList<>();
    for (StressSpace space : model.allSpaces()) {
      if (space.isKeyspace() && !space.dropped) {
        names.add(space.name());
      }
    }
    names.sort(null);
    return names;
  }

  private static void assertEmpty(KvReader reader) {
    try (KvCursor cursor = reader.cursor()) {
      assertFalse(cursor.next(), "an entry in a keyspace that must be empty");
    }
  }
}
