package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.CrashableStorage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * An engine whose keyspaces are made, written to and dropped, with account of what each must hold.
 * Every write is synced, so what was acknowledged must be there after any crash. Not thread safe.
 */
public final class TrackedKeyspaces {
  /** Ids beyond the last known one that are looked at, too. */
  private static final int UNKNOWN_IDS = 4;

  /** What is known of one id that was given out. */
  private static final class Space {
    final String name;
    final int id;
    final Map<String, String> content = new TreeMap<>();

    /** Writes that failed in a way that leaves open whether they happened. */
    final Set<String> doubtful = new HashSet<>();

    /** Whether the deletion of everything may have happened. */
    boolean mayBeEmpty;

    /** Whether the name may have gone. */
    boolean mayBeGone;

    boolean dropped;

    Space(String name, int id) {
      this.name = name;
      this.id = id;
    }
  }

  private final Variant variant;
  private final List<Space> spaces = new ArrayList<>();
  private final SteppedEngine stepped = new SteppedEngine();
  private boolean failed;
  private int writes;

  public TrackedKeyspaces(Variant variant) {
    this.variant = variant;
  }

  public void open(CrashableStorage storage) {
    stepped.open(scheduler -> variant.config(storage, scheduler));
  }

  StorageEngine engine() {
    return stepped.get();
  }

  public boolean hasFailed() {
    return failed;
  }

  /** Makes the keyspace or finds it; whether that succeeded. */
  public boolean make(String name) {
    Space present = find(name);
    int id;
    try {
      id = engine().keyspaces().open(name);
    } catch (StorageException | StoreFailedException e) {
      failed |= e instanceof StoreFailedException;
      return false;
    }
    if (present != null && present.id == id) {
      return true;
    }
    assertTrue(present == null || present.mayBeGone, "a second keyspace of one name");
    for (Space other : spaces) {
      assertTrue(other.id < id, "an id that was given out before");
    }
    if (present != null) {
      present.dropped = true;
    }
    spaces.add(new Space(name, id));
    return true;
  }

  /** Writes to the newest keyspace of the name; whether that succeeded. */
  public boolean put(String name) {
    Space space = find(name);
    if (space == null) {
      return false;
    }
    int number = writes++;
    String key = "key-" + number % 5;
    byte[] value = TrackedEngine.value(number, 50 + 400 * (number % 3));
    BatchWrites buffer = new BatchWrites();
    buffer.put(space.id, TrackedEngine.key(number % 5), value, 0);
    try {
      engine().writes().write(buffer, CommitSync.EVERY_COMMIT);
    } catch (IllegalStateException e) {
      assertTrue(space.mayBeGone, "refused although it was not dropped");
      return false;
    } catch (StorageException | StoreFailedException e) {
      failed |= e instanceof StoreFailedException;
      space.doubtful.add(key);
      return false;
    }
    // Acknowledged and synced: it must not go with a drop that failed.
    settle(space);
    space.content.put(key, TrackedEngine.text(one(key, value)));
    space.doubtful.remove(key);
    return true;
  }

  public boolean drop(String name) {
    Space space = find(name);
    if (space == null) {
      return false;
    }
    space.mayBeEmpty = true;
    space.mayBeGone = true;
    try {
      engine().keyspaces().drop(space.id);
    } catch (StorageException | StoreFailedException e) {
      failed |= e instanceof StoreFailedException;
      return false;
    }
    space.dropped = true;
    return true;
  }

  public boolean flush(boolean compacts) {
    try {
      if (compacts) {
        engine().compact();
      } else {
        engine().flush();
      }
      return true;
    } catch (StorageException | StoreFailedException e) {
      failed |= e instanceof StoreFailedException;
      return false;
    }
  }

  public void abandon() {
    stepped.abandon();
  }

  /** Opens what a crash left, checks it against the account, goes on with it and opens it again. */
  public void checkRecovered(CrashableStorage after) {
    TrackedKeyspaces recovered = new TrackedKeyspaces(variant);
    recovered.open(after);
    try {
      checkEverySpace(recovered.engine());
      int fresh = recovered.engine().keyspaces().open("made after the crash");
      for (Space space : spaces) {
        assertTrue(space.id < fresh, "an id is used again");
      }
      assertEquals("", contents(recovered.engine(), fresh), "what a new keyspace holds");
      assertTrue(recovered.make("a") && recovered.put("a") && recovered.drop("a"));
    } finally {
      recovered.abandon();
    }
    TrackedKeyspaces again = new TrackedKeyspaces(variant);
    again.open(after.crashSyncedOnly());
    try {
      assertFalse(again.engine().keyspaces().names().contains("a"));
      checkNamelessAreEmpty(again.engine());
    } finally {
      again.abandon();
    }
  }

  private void checkEverySpace(StorageEngine opened) {
    List<String> names = opened.keyspaces().names();
    Map<Integer, String> byId = new HashMap<>();
    for (String name : names) {
      byId.put(opened.keyspaces().open(name), name);
    }
    for (Space space : spaces) {
      String name = byId.get(space.id);
      if (name == null) {
        assertTrue(space.mayBeGone, () -> "keyspace " + space.name + " is gone");
        continue;
      }
      assertEquals(space.name, name);
      assertFalse(space.dropped, () -> "keyspace " + name + " is back");
      checkContent(space, opened);
    }
    checkNamelessAreEmpty(opened);
  }

  private void checkNamelessAreEmpty(StorageEngine opened) {
    Set<Integer> named = new HashSet<>();
    opened.keyspaces().names().forEach(name -> named.add(opened.keyspaces().open(name)));
    int last = spaces.isEmpty() ? 0 : spaces.get(spaces.size() - 1).id;
    for (int id = 1; id <= last + UNKNOWN_IDS; id++) {
      if (!named.contains(id)) {
        assertEquals("", contents(opened, id), "entries of keyspace " + id + ", which has no name");
      }
    }
  }

  private static void checkContent(Space space, StorageEngine opened) {
    String found = contents(opened, space.id);
    StringBuilder expected = new StringBuilder();
    space.content.forEach((key, text) -> expected.append(text));
    boolean whole = found.contentEquals(expected);
    boolean empty = space.mayBeEmpty && found.isEmpty();
    if (!whole && !empty && space.doubtful.isEmpty()) {
      fail("keyspace " + space.name + " holds " + found + " instead of " + expected);
    }
  }

  /** A write came behind a drop that failed: so much of it as happened is known from here on. */
  private void settle(Space space) {
    if (space.mayBeGone) {
      if (isEmptied(space)) {
        space.content.clear();
      }
      space.mayBeGone = false;
      space.mayBeEmpty = false;
    }
  }

  /** Whether a key from before the drop is no longer there. */
  private boolean isEmptied(Space space) {
    String found = contents(engine(), space.id);
    return space.content.values().stream().filter(found::contains).count() == 0;
  }

  /** The newest keyspace of that name that was not dropped. */
  private @Nullable Space find(String name) {
    Space found = null;
    for (Space space : spaces) {
      if (space.name.equals(name) && !space.dropped) {
        found = space;
      }
    }
    return found;
  }

  private static TreeMap<byte[], byte[]> one(String key, byte[] value) {
    TreeMap<byte[], byte[]> one = new TreeMap<>(Arrays::compareUnsigned);
    one.put(key.getBytes(UTF_8), value);
    return one;
  }

  /** What stands in the range of an id, whether it has a name or not. */
  public static String contents(StorageEngine engine, int id) {
    ScanBounds all = new ScanBounds(id, null, null, false, false, Long.MAX_VALUE);
    StringBuilder text = new StringBuilder();
    try (SnapshotCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
      while (cursor.next()) {
        String key = new String(cursor.key(), UTF_8);
        text.append(TrackedEngine.text(one(key, cursor.value())));
      }
    }
    return text.toString();
  }
}
