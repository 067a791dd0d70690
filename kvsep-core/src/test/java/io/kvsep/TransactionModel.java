package io.kvsep;

import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Change;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction must show and whether its commit must meet a conflict: the state when it
 * began, its own writes, the keys and ranges that were certainly read of the store, and the writes
 * of others since. Not thread safe.
 */
final class TransactionModel {
  /** Keys of one space; null for an open end. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record ReadRange(int space, byte @Nullable [] from, byte @Nullable [] to, boolean toInclusive) {
    static ReadRange of(int space, byte[] key) {
      return new ReadRange(space, key, key, true);
    }

    boolean isChangedBy(Change change) {
      if (change.space() != space) {
        return false;
      }
      byte[] end = change.end();
      int fromLast = to == null ? 1 : Arrays.compareUnsigned(to, change.key());
      int toFirst = 1;
      if (from != null) {
        toFirst = Arrays.compareUnsigned(end == null ? change.key() : end, from);
      }
      boolean empty = from != null && to != null && Arrays.compareUnsigned(from, to) > 0;
      return !empty
          && (toInclusive ? fromLast >= 0 : fromLast > 0)
          && (end == null ? toFirst >= 0 : toFirst > 0);
    }
  }

  private final List<ReadRange> reads = new ArrayList<>();
  private final List<Change> own = new ArrayList<>();
  private final List<Change> others = new ArrayList<>();
  private final Set<Integer> scanned = new HashSet<>();
  private final ModelState began;
  private ModelState state;

  TransactionModel(ModelState state) {
    this.began = state;
    this.state = state;
  }

  /** What it sees. */
  ModelState state() {
    return state;
  }

  /** Its writes, in their order. */
  List<Change> own() {
    return own;
  }

  void write(Change change) {
    if (!change.isEmptyRange()) {
      own.add(change);
      state = state.with(List.of(change));
    }
  }

  /** A read of a key, which counts unless an own write answers it. */
  void readKey(int space, byte[] key) {
    ReadRange point = ReadRange.of(space, key);
    if (own.stream().noneMatch(point::isChangedBy)) {
      reads.add(point);
    }
  }

  /** What a cursor went over. */
  void readRange(ReadRange range) {
    reads.add(range);
  }

  /** There is a cursor, which may read more than is told. */
  void scans(int space) {
    scanned.add(space);
  }

  /** Another transaction has committed this. */
  void committed(List<Change> changes) {
    changes.stream().filter(change -> !change.isEmptyRange()).forEach(others::add);
  }

  /**
   * Whether something it read was changed. Not certain is this where there was nothing when it
   * began and is nothing now: a table that only says so may be gone.
   */
  boolean mustConflict(ModelState now, long nowMillis) {
    return !own.isEmpty()
        && reads.stream()
            .anyMatch(
                range ->
                    others.stream()
                        .anyMatch(
                            change ->
                                range.isChangedBy(change)
                                    && (holds(began, change, range, nowMillis)
                                        || holds(now, change, range, nowMillis))));
  }

  /** Whether a state has any entry that was both read and changed. */
  private static boolean holds(ModelState in, Change change, ReadRange range, long nowMillis) {
    byte[] last = change.end();
    byte[] end = last == null ? Arrays.copyOf(change.key(), change.key().length + 1) : last;
    return in.entries(change.space(), change.key(), end, nowMillis).stream()
        .anyMatch(entry -> range.isChangedBy(Change.delete(change.space(), entry.getKey())));
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("reads");
    for (ReadRange read : reads) {
      text.append(' ').append(read.space()).append(':').append(ModelState.text(read.from()));
      text.append("..").append(ModelState.text(read.to())).append(read.toInclusive() ? "]" : ")");
    }
    text.append(" others");
    for (Change change : others) {
      text.append(' ').append(change.space()).append(':').append(ModelState.text(change.key()));
      text.append(change.end() == null ? "" : ".." + ModelState.text(change.end()));
    }
    return text.toString();
  }

  boolean mayConflict() {
    return !own.isEmpty()
        && others.stream()
            .anyMatch(
                change ->
                    scanned.contains(change.space())
                        || reads.stream().anyMatch(range -> range.isChangedBy(change)));
  }
}
