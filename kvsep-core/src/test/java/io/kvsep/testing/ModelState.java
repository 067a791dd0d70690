package io.kvsep.testing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a store of several keyspaces must hold at one moment, by the number a test gave each of
 * them. A change makes a new state, so that snapshots and every state since the last sync are at
 * hand. Immutable.
 */
public final class ModelState {
  private static final NavigableMap<byte[], Cell> NOTHING = new TreeMap<>(Arrays::compareUnsigned);

  /** A value and when it goes; {@link Long#MAX_VALUE} for never. */
  public record Cell(byte[] value, long expiresAtMillis) {}

  /** A put with a cell, a delete of a range with an end, or else a delete. */
  public record Change(int space, byte[] key, @Nullable Cell cell, byte @Nullable [] end) {
    public static Change put(int space, byte[] key, Cell cell) {
      return new Change(space, key, cell, null);
    }

    public static Change delete(int space, byte[] key) {
      return new Change(space, key, null, null);
    }

    public static Change deleteRange(int space, byte[] from, byte[] to) {
      return new Change(space, from, null, to);
    }

    /** A range without anything in it is not written at all. */
    public boolean isEmptyRange() {
      return end != null && Arrays.compareUnsigned(key, end) >= 0;
    }
  }

  private final Map<Integer, NavigableMap<byte[], Cell>> spaces;

  private ModelState(Map<Integer, NavigableMap<byte[], Cell>> spaces) {
    this.spaces = spaces;
  }

  public static ModelState empty() {
    return new ModelState(Map.of());
  }

  public ModelState with(List<Change> changes) {
    Map<Integer, NavigableMap<byte[], Cell>> copy = new HashMap<>(spaces);
    Set<Integer> copied = new HashSet<>();
    for (Change change : changes) {
      if (change.isEmptyRange()) {
        continue;
      }
      if (copied.add(change.space())) {
        copy.put(change.space(), new TreeMap<>(cells(change.space())));
      }
      NavigableMap<byte[], Cell> cells = copy.getOrDefault(change.space(), NOTHING);
      if (change.end() != null) {
        cells.subMap(change.key(), change.end()).clear();
      } else if (change.cell() == null) {
        cells.remove(change.key());
      } else {
        cells.put(change.key(), change.cell());
      }
    }
    return new ModelState(copy);
  }

  public ModelState without(int space) {
    Map<Integer, NavigableMap<byte[], Cell>> copy = new HashMap<>(spaces);
    copy.remove(space);
    return new ModelState(copy);
  }

  /** What is under the key and has not expired by then. */
  public byte @Nullable [] value(int space, byte[] key, long nowMillis) {
    Cell cell = cells(space).get(key);
    return cell == null || cell.expiresAtMillis() <= nowMillis ? null : cell.value();
  }

  /** Entries from one key up to before another, null being an open end, in order. */
  public List<Map.Entry<byte[], Cell>> entries(
      int space, byte @Nullable [] from, byte @Nullable [] to, long nowMillis) {
    List<Map.Entry<byte[], Cell>> entries = new ArrayList<>();
    NavigableMap<byte[], Cell> cells = cells(space);
    for (Map.Entry<byte[], Cell> entry :
        (from == null ? cells : cells.tailMap(from, true)).entrySet()) {
      if (to != null && Arrays.compareUnsigned(entry.getKey(), to) >= 0) {
        break;
      }
      if (entry.getValue().expiresAtMillis() > nowMillis) {
        entries.add(Map.entry(entry.getKey(), entry.getValue()));
      }
    }
    return entries;
  }

  /** All that can be seen of a space, a line an entry: key, value, expiry. */
  public String describe(int space, long nowMillis) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<byte[], Cell> entry : entries(space, null, null, nowMillis)) {
      describe(text, entry.getKey(), entry.getValue());
    }
    return text.toString();
  }

  /** Adds the line of one entry. */
  public static void describe(StringBuilder text, byte[] key, Cell cell) {
    text.append(text(key)).append(' ').append(cell.value().length).append(' ');
    text.append(Arrays.hashCode(cell.value())).append(' ').append(cell.expiresAtMillis());
    text.append('\n');
  }

  public static String shortName(String name) {
    return name.length() > 9 ? name.substring(0, 3) + "..." : name;
  }

  public static String text(byte @Nullable [] key) {
    return key == null ? "-" : HexFormat.of().formatHex(key);
  }

  private NavigableMap<byte[], Cell> cells(int space) {
    return spaces.getOrDefault(space, NOTHING);
  }
}
