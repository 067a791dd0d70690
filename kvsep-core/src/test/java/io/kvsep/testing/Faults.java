package io.kvsep.testing;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** The failures that are yet to come. Not thread safe. */
final class Faults {
  private final List<Planned> planned = new ArrayList<>();

  void plan(long nth, Fault fault, boolean sticky, BiPredicate<Operation, String> where) {
    if (nth < 1) {
      throw new IllegalArgumentException("operations count from 1: " + nth);
    }
    planned.add(new Planned(nth, fault, sticky, where));
  }

  void clear() {
    planned.clear();
  }

  /** The fault that befalls this operation. Every plan counts it; the oldest plan wins. */
  @Nullable Fault next(Operation operation, String name) {
    Fault fault = null;
    for (Iterator<Planned> i = planned.iterator(); i.hasNext(); ) {
      Planned plan = i.next();
      if (!plan.where.test(operation, name) || --plan.remaining > 0) {
        continue;
      }
      if (fault == null) {
        fault = plan.fault;
      }
      if (!plan.sticky) {
        i.remove();
      }
    }
    return fault;
  }

  private static final class Planned {
    long remaining;
    final Fault fault;
    final boolean sticky;
    final BiPredicate<Operation, String> where;

    Planned(long nth, Fault fault, boolean sticky, BiPredicate<Operation, String> where) {
      this.remaining = nth;
      this.fault = fault;
      this.sticky = sticky;
      this.where = where;
    }
  }
}
