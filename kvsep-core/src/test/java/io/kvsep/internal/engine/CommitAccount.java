package io.kvsep.internal.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The states that commits left, as the one who was told of them knows it: which of them are known
 * to be synced, and what a failure or a commit under way leaves open. So at any moment it says what
 * a crash may leave. Not thread safe.
 */
final class CommitAccount<S> {
  private final List<S> states = new ArrayList<>();
  private int synced;

  /** What a commit that is under way is about to leave. */
  private @Nullable S coming;

  /** What a commit left whose own sync failed, if it happened. */
  private @Nullable S doubtful;

  /** What each commit would have left that was refused since the last one that succeeded. */
  private final List<S> refused = new ArrayList<>();

  private boolean failsLate;

  CommitAccount(S first) {
    states.add(first);
  }

  /** The state that readers have to see. */
  S current() {
    return states.get(states.size() - 1);
  }

  /**
   * From now on a write may fail with all its bytes in the file. Where the log cannot be cut
   * either, one of those that are refused may be found after a crash: the first that got as far as
   * the file, after which nothing is written into that any more.
   */
  void failsLate() {
    failsLate = true;
  }

  void begin(S next) {
    coming = next;
  }

  /** After {@link #begin}, however it ended. */
  void end() {
    coming = null;
  }

  /** There is a new state. */
  void add(S next) {
    states.add(next);
  }

  /** As {@link #add}, by a commit that was acknowledged: nothing refused is behind it. */
  void acknowledge(S next) {
    add(next);
    refused.clear();
  }

  /**
   * A commit threw.
   *
   * @param mayHaveHappened whether that leaves open what became of it
   */
  void fail(S next, boolean mayHaveHappened) {
    if (mayHaveHappened) {
      doubtful = next;
    }
    if (failsLate) {
      refused.add(next);
    }
  }

  /** Something failed that may be found after a crash as long as nothing else is committed. */
  void failOpenly(S next) {
    refused.add(next);
  }

  /** All that there is is synced. */
  void sync() {
    synced = states.size() - 1;
  }

  /** Nothing but this is possible any more. */
  void settleOn(S state) {
    states.clear();
    states.add(state);
    synced = 0;
    doubtful = null;
    refused.clear();
  }

  /** What a crash may leave, in the order of the commits. */
  List<S> allowed() {
    return withOpenOnes(states.subList(synced, states.size()));
  }

  /** What the death of the process may leave, which loses nothing that was acknowledged. */
  List<S> allowedWhenKilled() {
    return withOpenOnes(List.of(current()));
  }

  /** What was there before the last sync. */
  List<S> past() {
    return List.copyOf(states.subList(0, synced));
  }

  private List<S> withOpenOnes(List<S> known) {
    List<S> allowed = new ArrayList<>(known);
    allowed.addAll(refused);
    for (S open : Arrays.asList(coming, doubtful)) {
      if (open != null) {
        allowed.add(open);
      }
    }
    return allowed;
  }
}
