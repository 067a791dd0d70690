package io.kvsep.testing;

import java.nio.ByteBuffer;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * All states that power loss may leave of a directory, none of them twice: for each legal choice of
 * its pending changes, everything that the pending writes of the files that are named then may
 * leave, each write for itself dropped, kept, or torn in every way that {@link Change#outcomeCount}
 * counts. Elements are made when they are asked for.
 *
 * <p>When there are more than a limit, it holds drawn states instead, as {@link CrashStates} draws
 * them; {@link #isExhaustive} tells.
 */
public final class CrashSpace extends AbstractList<SortedMap<String, byte[]>>
    implements RandomAccess {
  /** One choice of names, and what each file may hold; the numbers of states multiply. */
  private record Choice(List<String> names, List<Inode> inodes, int firstState, int stateCount) {}

  private final List<Choice> choices = new ArrayList<>();
  private final IdentityHashMap<Inode, List<byte[]>> contents = new IdentityHashMap<>();
  private final @Nullable CrashStates drawn;
  private final int count;

  private CrashSpace(Directory directory, int limit, int samples, long seed) {
    int found = enumerate(directory, limit);
    drawn = found < 0 ? new CrashStates(directory, samples, seed) : null;
    count = drawn == null ? found : drawn.size();
  }

  static CrashSpace of(Directory directory, int limit, int samples, long seed) {
    return new CrashSpace(directory, limit, samples, seed);
  }

  /** Whether this is every state that the model knows, and not a sample. */
  public boolean isExhaustive() {
    return drawn == null;
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
    if (drawn != null) {
      return drawn.get(index);
    }
    for (Choice choice : choices) {
      int rest = index - choice.firstState();
      if (rest >= choice.stateCount()) {
        continue;
      }
      SortedMap<String, byte[]> state = new TreeMap<>();
      for (int i = 0; i < choice.names().size(); i++) {
        List<byte[]> possible = contentsOf(choice.inodes().get(i));
        state.put(choice.names().get(i), possible.get(rest % possible.size()));
        rest /= possible.size();
      }
      return state;
    }
    throw new IndexOutOfBoundsException(index);
  }

  private List<byte[]> contentsOf(Inode inode) {
    List<byte[]> possible = contents.get(inode);
    if (possible == null) {
      throw new IllegalStateException("a file that was not looked at");
    }
    return possible;
  }

  /** The number of states, or -1 when there are more than the limit. */
  private int enumerate(Directory directory, int limit) {
    List<boolean[]> legal = CrashStates.legalChoices(directory, limit);
    if (legal == null) {
      return -1;
    }
    Set<List<Object>> seen = new LinkedHashSet<>();
    long states = 0;
    for (boolean[] kept : legal) {
      SortedMap<String, Inode> names = new TreeMap<>(directory.durable());
      for (int i = 0; i < kept.length; i++) {
        if (kept[i]) {
          directory.pending().get(i).apply(names);
        }
      }
      // A file that was made and removed is the same as one that never was.
      if (!seen.add(identity(names))) {
        continue;
      }
      long combinations = 1;
      for (Inode inode : names.values()) {
        List<byte[]> possible = contents.get(inode);
        if (possible == null) {
          possible = possible(inode, limit);
          contents.put(inode, possible);
        }
        combinations = Math.min(combinations * possible.size(), Integer.MAX_VALUE);
      }
      int first = (int) states;
      states += combinations;
      if (states > limit) {
        return -1;
      }
      choices.add(
          new Choice(
              List.copyOf(names.keySet()), List.copyOf(names.values()), first, (int) combinations));
    }
    return (int) states;
  }

  private static List<Object> identity(SortedMap<String, Inode> names) {
    List<Object> identity = new ArrayList<>(names.keySet());
    // Inodes are equal to themselves alone.
    identity.addAll(names.values());
    return identity;
  }

  /**
   * Every content that the file may have, each once; more than the limit when they are too many.
   */
  private static List<byte[]> possible(Inode inode, int limit) {
    Map<ByteBuffer, byte[]> found = new LinkedHashMap<>();
    byte[] durable = inode.durable().toBytes();
    found.put(ByteBuffer.wrap(durable), durable);
    for (Change change : inode.pending()) {
      Map<ByteBuffer, byte[]> next = new LinkedHashMap<>();
      for (byte[] before : found.values()) {
        for (int outcome = 0; outcome < change.outcomeCount(); outcome++) {
          Content content = new Content(before);
          change.applyOutcome(content, outcome);
          byte[] after = content.toBytes();
          next.put(ByteBuffer.wrap(after), after);
        }
        if (next.size() > limit) {
          break;
        }
      }
      found = next;
    }
    return List.copyOf(found.values());
  }
}
