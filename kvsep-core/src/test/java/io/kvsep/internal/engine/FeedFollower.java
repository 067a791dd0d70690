package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ChangesLostException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.feed.LoggedChange;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Follows a store by its changes, as a replica does: keeps what they add up to, and starts again
 * from a copy when some are lost. Not thread safe.
 */
final class FeedFollower {
  /** What a follower was given, in order. */
  record Given(long after, List<LoggedChange> changes) {
    long position() {
      return changes.isEmpty() ? after : changes.get(changes.size() - 1).sequence();
    }

    /** The changes behind one of them, or behind the beginning where it is negative. */
    Given behind(int index) {
      return index < 0
          ? this
          : new Given(changes.get(index).sequence(), changes.subList(index + 1, changes.size()));
    }
  }

  private StoreContent content = StoreContent.EMPTY;
  private final List<LoggedChange> changes = new ArrayList<>();
  private long after;
  private @Nullable ChangeReader reader;
  private int copies;

  /** How often it had to start again. */
  int copies() {
    return copies;
  }

  Given given() {
    return new Given(after, List.copyOf(changes));
  }

  StoreContent content() {
    return content;
  }

  /** The store was opened again, or is another one that holds what was given. */
  void reconnect() {
    reader = null;
  }

  /** Takes what there is. */
  void follow(StorageEngine engine) {
    try {
      ChangeReader open = reader;
      if (open == null) {
        open = engine.changes().open(given().position());
        reader = open;
      }
      for (LoggedChange change = open.poll(each -> each);
          change != null;
          change = open.poll(each -> each)) {
        assertTrue(change.sequence() > given().position(), "changes out of order");
        changes.add(change);
        content = after(change, content);
      }
    } catch (ChangesLostException e) {
      assertEquals(given().position(), e.position());
      assertTrue(e.lostSequence() > e.position(), e::getMessage);
      copies++;
      changes.clear();
      content = StoreContent.of(engine);
      after = engine.reads().visibleSequence();
      reader = engine.changes().open(after);
    }
  }

  private static StoreContent after(LoggedChange change, StoreContent before) {
    int space = change.keyspace();
    String key = new String(change.key(), UTF_8);
    byte[] value = change.value();
    if (change.kind() == Tag.RANGE_DELETE) {
      return before.withoutRange(space, key, value == null ? "\uffff" : new String(value, UTF_8));
    }
    if (change.kind() == Tag.DELETE) {
      return before.without(space, key);
    }
    assertNotNull(value);
    long expiry = change.expiresAtMillis();
    return before.with(space, key, value, expiry == 0 ? Long.MAX_VALUE : expiry);
  }

  /**
   * Whether the store still has what was given; throws when it has something else in its place, or
   * can have lost it without saying so.
   */
  static boolean stillHas(StorageEngine engine, Given given) {
    List<String> found = new ArrayList<>();
    try {
      ChangeReader reader = engine.changes().open(given.after());
      for (LoggedChange change = reader.poll(each -> each);
          change != null;
          change = reader.poll(each -> each)) {
        found.add(text(change));
      }
    } catch (ChangesLostException e) {
      return false;
    }
    List<String> expected = new ArrayList<>();
    given.changes().forEach(change -> expected.add(text(change)));
    assertTrue(found.size() >= expected.size(), () -> found + " instead of " + expected);
    assertEquals(expected, found.subList(0, expected.size()));
    return true;
  }

  private static String text(LoggedChange change) {
    byte[] value = change.value();
    return change.sequence()
        + " "
        + change.kind()
        + (change.endsCommit() ? "." : ",")
        + StoreContent.line(
            change.keyspace(),
            change.key(),
            value == null ? new byte[0] : value,
            change.expiresAtMillis());
  }
}
