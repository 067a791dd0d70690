package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.feed.LoggedChange;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Implements the change feed API on the engine's reader. */
final class StoreChangeFeed implements ChangeFeed {
  /** Longer waits count as infinite; nanoseconds in a long end at 292 years. */
  private static final long AGES_DAYS = 36_500;

  private final StorageEngine engine;
  private final ChangeReader reader;

  /** Name of the keyspace of the last change in a named keyspace. */
  private volatile @Nullable String lastName;

  StoreChangeFeed(StorageEngine engine, long afterSequence) {
    this.engine = engine;
    this.reader = engine.changes().open(afterSequence);
  }

  @Override
  public @Nullable Change poll() {
    return reader.poll(this::change);
  }

  @Override
  public @Nullable Change poll(Duration atMost) {
    Objects.requireNonNull(atMost, "atMost");
    if (atMost.isNegative()) {
      throw new IllegalArgumentException("atMost must not be negative, is " + atMost);
    }
    boolean ages = atMost.toDays() > AGES_DAYS;
    return reader.poll(ages ? Long.MAX_VALUE / 2 : atMost.toNanos(), this::change);
  }

  @Override
  public void close() {
    reader.close();
  }

  private Change change(LoggedChange logged) {
    int id = logged.keyspace();
    String name = null;
    if (id != Keyspaces.DEFAULT) {
      name = engine.keyspaces().nameOf(id, lastName);
      lastName = name;
    }
    return new Change(
        logged.sequence(),
        kind(logged.kind()),
        id,
        name,
        logged.key(),
        logged.value(),
        logged.expiresAtMillis(),
        logged.endsCommit());
  }

  private static Change.Kind kind(int kind) {
    if (kind == Tag.RANGE_DELETE) {
      return Change.Kind.DELETE_RANGE;
    }
    return Tag.baseKind(kind) == Tag.DELETE ? Change.Kind.DELETE : Change.Kind.PUT;
  }
}
