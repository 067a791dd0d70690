package io.kvsep.testing;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * The cases of a sweep; a run tries some. They are drawn so that each value of each trait is met at
 * least once. With {@code -Dkvsep.exhaustive=true} a run tries all. A drawn case is the same as in
 * the exhaustive run, so when that is green, every draw is.
 *
 * <p>Each run prints its seed, and {@code -Dkvsep.seed=N} repeats it; so does a failure. Immutable.
 */
public final class Sample<C> {
  /** Whether sweeps are larger than what the exhaustive run has time for; for use by hand. */
  public static final boolean LONG = Boolean.getBoolean("kvsep.long");

  /** Whether everything is tried. */
  public static final boolean EXHAUSTIVE = LONG || Boolean.getBoolean("kvsep.exhaustive");

  /** A sweep over the cases that were chosen; the seed serves choices within a case. */
  public interface Sweep<C> {
    void over(List<C> cases, long seed);
  }

  private final List<C> all;
  private final List<Function<? super C, ?>> traits;
  private final int exhaustiveMax;

  private Sample(List<C> all, List<Function<? super C, ?>> traits, int exhaustiveMax) {
    this.all = all;
    this.traits = traits;
    this.exhaustiveMax = exhaustiveMax;
  }

  public static <C> Sample<C> of(Collection<? extends C> all) {
    return new Sample<>(List.copyOf(all), List.of(), Integer.MAX_VALUE);
  }

  /** Numbers from the first to the last, with some in each of so many equal stretches. */
  public static Sample<Integer> ofRange(int first, int last, int stretches) {
    int count = last - first + 1;
    return of(IntStream.rangeClosed(first, last).boxed().toList())
        .meeting(number -> (long) (number - first) * stretches / count);
  }

  /** One that meets every value of this trait, too. */
  public Sample<C> meeting(Function<? super C, ?> trait) {
    List<Function<? super C, ?>> more = new ArrayList<>(traits);
    more.add(trait);
    return new Sample<>(all, more, exhaustiveMax);
  }

  /** One too large for the exhaustive run, which draws this many; {@code kvsep.long} tries all. */
  public Sample<C> exhaustingAtMost(int cases) {
    return new Sample<>(all, traits, LONG ? Integer.MAX_VALUE : cases);
  }

  public List<C> all() {
    return all;
  }

  /** Draws {@code count} cases, or more when the traits need more. Keeps their order. */
  public List<C> drawn(int count, long seed) {
    List<Integer> order = new ArrayList<>(IntStream.range(0, all.size()).boxed().toList());
    Collections.shuffle(order, new Random(seed));
    Set<Integer> taken = new TreeSet<>();
    for (Function<? super C, ?> trait : traits) {
      Set<Object> met = new HashSet<>();
      taken.forEach(index -> met.add(trait.apply(all.get(index))));
      for (int index : order) {
        if (met.add(trait.apply(all.get(index)))) {
          taken.add(index);
        }
      }
    }
    for (int i = 0; i < order.size() && taken.size() < count; i++) {
      taken.add(order.get(i));
    }
    return taken.stream().map(all::get).toList();
  }

  /** Runs the sweep of a test over {@code count} drawn cases, or over all. */
  public void run(Class<?> owner, String method, int count, Sweep<C> sweep) {
    long seed = Long.getLong("kvsep.seed", ThreadLocalRandom.current().nextInt(1_000_000_000));
    boolean whole = EXHAUSTIVE && all.size() <= exhaustiveMax;
    List<C> chosen = whole ? all : drawn(EXHAUSTIVE ? exhaustiveMax : count, seed);
    String option = EXHAUSTIVE ? "-Dkvsep.exhaustive=true" : "";
    option += whole ? "" : " -Dkvsep.seed=" + seed;
    String what =
        chosen.size()
            + " of "
            + all.size()
            + " cases; repeat with: "
            + Seeds.command(owner, owner.getSimpleName() + "#" + method)
            + " "
            + option.strip();
    System.out.println(owner.getSimpleName() + "#" + method + ": " + what);
    try {
      sweep.over(chosen, seed);
    } catch (Throwable e) {
      throw new AssertionError(what + "; " + e.getMessage(), e);
    }
  }
}
