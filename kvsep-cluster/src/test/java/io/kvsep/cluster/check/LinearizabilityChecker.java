package io.kvsep.cluster.check;

import io.kvsep.cluster.check.Call.Kind;
import io.kvsep.cluster.check.Call.Outcome;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Whether a history of calls has an order in which each took effect at one moment between its
 * invocation and its return, and each answer is that of a register per key, absent at first.
 *
 * <p>The search of Wing and Gong: take a call that no other one precedes, apply it, go on with the
 * rest; step back where the rest has no order. A set of configurations that were tried, which is
 * Lowe's addition, keeps it from trying one twice. Keys are independent, so each has its own
 * search.
 *
 * <p>A write with unknown outcome takes effect at any time after its invocation, or never. The
 * search gives it effect only where the next call in the order may see it, since otherwise the
 * order without it is as good.
 */
final class LinearizabilityChecker {
  /** Above that, memory is what limits the search; what a cluster does needs far fewer. */
  private static final int CONFIGURATIONS_MAX = 1_000_000;

  /** Index of the list's head in {@link #next}. */
  private final int head;

  private final List<Call> calls;

  /** Numbers of values; 0 is the absent one. */
  private final Map<@Nullable String, Integer> values = new HashMap<>();

  private final int[] expected;
  private final int[] value;

  /**
   * Doubly linked list of what is not yet in the order, by time: {@code 2 * call} is the invocation
   * of a call, {@code 2 * call + 1} its return, which those with unknown outcome have not.
   */
  private final int[] next;

  private final int[] previous;

  private final BitSet ordered = new BitSet();
  private final Set<Configuration> tried = new HashSet<>();
  private final Deque<Step> steps = new ArrayDeque<>();
  private int register;

  /** The last call in the order is one with unknown outcome, and the next one must see it. */
  private boolean unseen;

  private record Configuration(BitSet ordered, int register, boolean unseen) {}

  /** What was the case before a call was taken. */
  private record Step(int call, int register, boolean unseen) {}

  /**
   * Why a history has no order.
   *
   * @param order the longest that was found
   * @param next calls that may come next by their time; none of them fits
   */
  record Violation(String key, List<Call> order, List<Call> next) {
    /** The end of the order; all of it is long. */
    private static final int SHOWN = 8;

    @Override
    public String toString() {
      int first = Math.max(0, order.size() - SHOWN);
      return "key %s is not linearizable: after %s calls, at last%n%s none of these may follow:%n%s"
          .formatted(
              key,
              order.size(),
              History.text(order.subList(first, order.size())),
              History.text(next));
    }
  }

  /**
   * @return null if all is well
   * @throws IllegalStateException if the search takes too much memory
   */
  static @Nullable Violation check(List<Call> calls) {
    Map<String, List<Call>> keys = new TreeMap<>();
    for (Call call : calls) {
      boolean tellsNothing = call.outcome() == Outcome.UNKNOWN && !call.isWrite();
      if (call.outcome() != Outcome.FAILED && !tellsNothing) {
        keys.computeIfAbsent(call.key(), key -> new ArrayList<>()).add(call);
      }
    }
    for (Map.Entry<String, List<Call>> key : keys.entrySet()) {
      Violation violation = new LinearizabilityChecker(key.getValue()).search(key.getKey());
      if (violation != null) {
        return violation;
      }
    }
    return null;
  }

  private LinearizabilityChecker(List<Call> calls) {
    this.calls = calls;
    this.head = 2 * calls.size();
    this.expected = new int[calls.size()];
    this.value = new int[calls.size()];
    this.next = new int[head + 1];
    this.previous = new int[head + 1];
    values.put(null, 0);
    List<Integer> events = new ArrayList<>();
    for (int i = 0; i < calls.size(); i++) {
      expected[i] = number(calls.get(i).expected());
      value[i] = number(calls.get(i).value());
      events.add(2 * i);
      if (calls.get(i).returned() != Call.NEVER) {
        events.add(2 * i + 1);
      }
    }
    // At one moment, invocations come first: such calls count as concurrent.
    events.sort(Comparator.<Integer>comparingLong(this::time).thenComparingInt(event -> event & 1));
    int last = head;
    for (int event : events) {
      next[last] = event;
      previous[event] = last;
      last = event;
    }
    next[last] = head;
    previous[head] = last;
  }

  private int number(@Nullable String word) {
    return values.computeIfAbsent(word, w -> values.size());
  }

  private long time(int event) {
    Call call = calls.get(event / 2);
    return event % 2 == 0 ? call.invoked() : call.returned();
  }

  private @Nullable Violation search(String key) {
    int left = (int) calls.stream().filter(call -> call.returned() != Call.NEVER).count();
    List<Call> longest = List.of();
    List<Call> stuck = candidates();
    int event = next[head];
    while (left > 0) {
      int call = event / 2;
      if (event != head && event % 2 == 0) {
        if (take(call)) {
          left -= calls.get(call).returned() == Call.NEVER ? 0 : 1;
          event = next[head];
        } else {
          event = next[event];
        }
        continue;
      }
      if (steps.size() > longest.size()) {
        longest = order();
        stuck = candidates();
      }
      if (steps.isEmpty()) {
        return new Violation(key, longest, stuck);
      }
      int undone = stepBack();
      left += calls.get(undone).returned() == Call.NEVER ? 0 : 1;
      event = next[2 * undone];
    }
    return null;
  }

  /** Applies a call, unless its answer is another one or this was tried before. */
  private boolean take(int index) {
    Call call = calls.get(index);
    boolean known = call.outcome() != Outcome.UNKNOWN;
    int after;
    switch (call.kind()) {
      case GET -> {
        if (value[index] != register) {
          return false;
        }
        after = register;
      }
      case PUT, DELETE -> {
        if (unseen) {
          return false;
        }
        after = call.kind() == Kind.PUT ? value[index] : 0;
      }
      default -> {
        boolean met = expected[index] == register;
        if (met == (call.outcome() == Outcome.REFUSED)) {
          return false;
        }
        after = met ? value[index] : register;
      }
    }
    ordered.set(index);
    if (!tried.add(new Configuration((BitSet) ordered.clone(), after, !known))) {
      ordered.clear(index);
      return false;
    }
    if (tried.size() > CONFIGURATIONS_MAX) {
      throw new IllegalStateException("undecided after " + tried.size() + " configurations");
    }
    steps.push(new Step(index, register, unseen));
    register = after;
    unseen = !known;
    unlink(2 * index);
    if (call.returned() != Call.NEVER) {
      unlink(2 * index + 1);
    }
    return true;
  }

  /** Returns the call that is no longer in the order. */
  private int stepBack() {
    Step step = steps.pop();
    int call = step.call();
    ordered.clear(call);
    register = step.register();
    unseen = step.unseen();
    if (calls.get(call).returned() != Call.NEVER) {
      link(2 * call + 1);
    }
    link(2 * call);
    return call;
  }

  private void unlink(int event) {
    next[previous[event]] = next[event];
    previous[next[event]] = previous[event];
  }

  /** Undoes {@link #unlink}, the last one first. */
  private void link(int event) {
    next[previous[event]] = event;
    previous[next[event]] = event;
  }

  private List<Call> order() {
    List<Call> order = new ArrayList<>();
    steps.descendingIterator().forEachRemaining(step -> order.add(calls.get(step.call())));
    return order;
  }

  /** Calls that no other one precedes. */
  private List<Call> candidates() {
    List<Call> first = new ArrayList<>();
    for (int event = next[head]; event != head && event % 2 == 0; event = next[event]) {
      first.add(calls.get(event / 2));
    }
    return first;
  }
}
