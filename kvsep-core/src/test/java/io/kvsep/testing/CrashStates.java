package io.kvsep.testing;

import io.kvsep.testing.Directory.Renaming;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Random;
import java.util.RandomAccess;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What power loss may leave of a directory, as a list whose elements are made when asked for, each
 * time anew and each time the same. The directory must not change any more.
 *
 * <p>Every pending write is kept, dropped or torn; every truncate and every change of the directory
 * is kept or dropped, the latter such that of two changes that share a name the later is never kept
 * without the earlier, as every journaling file system sees to. When there are no more combinations
 * than the limit, the list has them all, with one random tearing for each torn write. Otherwise the
 * first element has everything dropped, the second everything kept, and the rest is drawn.
 */
final class CrashStates extends AbstractList<SortedMap<String, byte[]>> implements RandomAccess {
  /** With more there is no point in counting the choices. */
  private static final int RENAMINGS_MAX = 32;

  private final Directory directory;
  private final List<Inode> inodes;
  private final List<Change> changes = new ArrayList<>();
  private final long seed;

  /** Every legal choice of directory changes, or null when the states are drawn. */
  private final @Nullable List<boolean[]> choices;

  private final int count;

  CrashStates(Directory directory, int limit, long seed) {
    this.directory = directory;
    this.seed = seed;
    Set<Inode> reachable = Collections.newSetFromMap(new IdentityHashMap<>());
    inodes = new ArrayList<>();
    for (Inode inode : directory.durable().values()) {
      addOnce(reachable, inode);
    }
    for (Renaming renaming : directory.pending()) {
      addOnce(reachable, renaming.inode());
    }
    List<boolean[]> legal = legalChoices(directory, limit);
    long combinations = legal == null ? Integer.MAX_VALUE : legal.size();
    for (Change change : changes) {
      combinations = Math.min(combinations * change.verdictCount(), Integer.MAX_VALUE);
    }
    if (combinations <= limit) {
      choices = legal;
      count = (int) combinations;
    } else {
      choices = null;
      count = limit;
    }
  }

  /** Every legal choice of the directory's changes; null when there are more than the limit. */
  static @Nullable List<boolean[]> legalChoices(Directory directory, int limit) {
    int renamings = directory.pending().size();
    List<boolean[]> legal = new ArrayList<>();
    boolean all =
        renamings <= RENAMINGS_MAX
            && choose(directory, 0, new boolean[renamings], new HashSet<>(), limit, legal);
    return all ? legal : null;
  }

  private void addOnce(Set<Inode> reachable, Inode inode) {
    if (reachable.add(inode)) {
      inodes.add(inode);
      changes.addAll(inode.pending());
    }
  }

  /** Collects the legal choices from the n-th change on. False when there are too many. */
  private static boolean choose(
      Directory directory,
      int n,
      boolean[] kept,
      Set<String> blocked,
      int limit,
      List<boolean[]> legal) {
    if (n == kept.length) {
      legal.add(kept.clone());
      return legal.size() <= limit;
    }
    Set<String> names = namesOf(directory.pending().get(n));
    if (Collections.disjoint(names, blocked)) {
      kept[n] = true;
      if (!choose(directory, n + 1, kept, blocked, limit, legal)) {
        return false;
      }
    }
    kept[n] = false;
    Set<String> moreBlocked = new HashSet<>(blocked);
    moreBlocked.addAll(names);
    return choose(directory, n + 1, kept, moreBlocked, limit, legal);
  }

  private static Set<String> namesOf(Renaming renaming) {
    Set<String> names = new HashSet<>();
    if (renaming.source() != null) {
      names.add(renaming.source());
    }
    if (renaming.target() != null) {
      names.add(renaming.target());
    }
    return names;
  }

  @Override
  public int size() {
    return count;
  }

  @Override
  public SortedMap<String, byte[]> get(int index) {
    if (index < 0 || index >= count) {
      throw new IndexOutOfBoundsException(index);
    }
    // Neighbouring seeds give similar first draws.
    Random random = new Random((seed + index) * 0x9E3779B97F4A7C15L);
    if (choices != null) {
      boolean[] kept = choices.get(index % choices.size());
      return state(kept, numbered(index / choices.size()), random);
    }
    return switch (index) {
      case 0 -> uniform(Verdict.DROPPED);
      case 1 -> uniform(Verdict.KEPT);
      default -> drawn(random);
    };
  }

  /** Everything dropped, or everything kept. */
  SortedMap<String, byte[]> uniform(Verdict verdict) {
    boolean[] kept = new boolean[directory.pending().size()];
    Arrays.fill(kept, verdict == Verdict.KEPT);
    Verdict[] verdicts = new Verdict[changes.size()];
    Arrays.fill(verdicts, verdict);
    return state(kept, verdicts, new Random(seed));
  }

  /**
   * Any state. Half of them keep or drop nearly everything, or all before some point in time:
   * verdicts of equal weight would hardly ever leave two writes that follow each other.
   */
  SortedMap<String, byte[]> drawn(Random random) {
    Verdict[] verdicts = new Verdict[changes.size()];
    int style = random.nextInt(6);
    int cut = random.nextInt(changes.size() + 1);
    for (int i = 0; i < verdicts.length; i++) {
      verdicts[i] =
          switch (style) {
            case 0 -> i == cut ? Verdict.TORN : i < cut ? Verdict.KEPT : Verdict.DROPPED;
            case 1 -> random.nextInt(8) == 0 ? any(random) : Verdict.KEPT;
            case 2 -> random.nextInt(8) == 0 ? any(random) : Verdict.DROPPED;
            default -> any(random);
          };
    }
    boolean[] kept = new boolean[directory.pending().size()];
    Set<String> blocked = new HashSet<>();
    int dropOneIn = 2 << random.nextInt(4);
    for (int i = 0; i < kept.length; i++) {
      Set<String> names = namesOf(directory.pending().get(i));
      kept[i] = random.nextInt(dropOneIn) != 0 && Collections.disjoint(names, blocked);
      if (!kept[i]) {
        blocked.addAll(names);
      }
    }
    return state(kept, verdicts, random);
  }

  private static Verdict any(Random random) {
    return Verdict.values()[random.nextInt(3)];
  }

  /** The n-th vector of verdicts, counting like a number whose digits have different bases. */
  private Verdict[] numbered(int n) {
    Verdict[] verdicts = new Verdict[changes.size()];
    int rest = n;
    for (int i = 0; i < verdicts.length; i++) {
      int base = changes.get(i).verdictCount();
      verdicts[i] = Verdict.values()[rest % base];
      rest /= base;
    }
    return verdicts;
  }

  private SortedMap<String, byte[]> state(boolean[] kept, Verdict[] verdicts, Random random) {
    SortedMap<String, Inode> names = new TreeMap<>(directory.durable());
    for (int i = 0; i < kept.length; i++) {
      if (kept[i]) {
        directory.pending().get(i).apply(names);
      }
    }
    IdentityHashMap<Inode, byte[]> contents = new IdentityHashMap<>();
    int next = 0;
    for (Inode inode : inodes) {
      Content content = inode.durable().copy();
      for (Change change : inode.pending()) {
        change.apply(content, verdicts[next++], random);
      }
      contents.put(inode, content.toBytes());
    }
    SortedMap<String, byte[]> state = new TreeMap<>();
    names.forEach((name, inode) -> state.put(name, contents.get(inode)));
    return state;
  }
}
