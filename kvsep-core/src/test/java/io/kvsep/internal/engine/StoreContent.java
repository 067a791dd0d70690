package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a store holds in all of its keyspaces at one moment, whether they have a name or not, with
 * digests in place of the values. Immutable.
 */
public final class StoreContent {
  public static final StoreContent EMPTY = new StoreContent(new TreeMap<>());

  /** Ids of keyspaces that are looked at. */
  static final int IDS = 6;

  /** A value's length and hash, and when it expires. */
  record Cell(String digest, long expiresAtMillis) {}

  private final NavigableMap<String, Cell> cells;

  private StoreContent(NavigableMap<String, Cell> cells) {
    this.cells = cells;
  }

  public StoreContent with(int keyspace, String key, byte[] value, long expiresAtMillis) {
    NavigableMap<String, Cell> next = new TreeMap<>(cells);
    next.put(place(keyspace, key), new Cell(digest(value), expiresAtMillis));
    return new StoreContent(next);
  }

  public StoreContent without(int keyspace, String key) {
    NavigableMap<String, Cell> next = new TreeMap<>(cells);
    next.remove(place(keyspace, key));
    return new StoreContent(next);
  }

  StoreContent withoutRange(int keyspace, String from, String to) {
    NavigableMap<String, Cell> next = new TreeMap<>(cells);
    next.subMap(place(keyspace, from), place(keyspace, to)).clear();
    return new StoreContent(next);
  }

  StoreContent withoutKeyspace(int keyspace) {
    return withoutRange(keyspace, "", "\uffff");
  }

  /** What is there to be seen at a time; of equal length and hash is equal. */
  public String text(long nowMillis) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, Cell> entry : cells.entrySet()) {
      if (entry.getValue().expiresAtMillis() > nowMillis) {
        text.append(line(entry.getKey(), entry.getValue())).append(' ');
      }
    }
    return text.toString();
  }

  /** The same of one keyspace, an element for each entry, in order. */
  List<String> lines(int keyspace, long nowMillis) {
    List<String> lines = new ArrayList<>();
    cells
        .subMap(place(keyspace, ""), place(keyspace, "\uffff"))
        .forEach(
            (place, cell) -> {
              if (cell.expiresAtMillis() > nowMillis) {
                lines.add(line(place, cell));
              }
            });
    return lines;
  }

  /** The digest of a key's value, null when there is none. */
  @Nullable String digest(int keyspace, String key, long nowMillis) {
    Cell cell = cells.get(place(keyspace, key));
    return cell == null || cell.expiresAtMillis() <= nowMillis ? null : cell.digest();
  }

  /** Everything a scan of each keyspace finds. */
  static StoreContent of(StorageEngine engine) {
    NavigableMap<String, Cell> found = new TreeMap<>();
    for (int id = 0; id < IDS; id++) {
      ScanBounds all = new ScanBounds(id, null, null, false, false, Long.MAX_VALUE);
      try (SnapshotCursor cursor = engine.reads().cursor(all, StoreReads.LATEST)) {
        while (cursor.next()) {
          String place = place(id, new String(cursor.key(), UTF_8));
          found.put(place, new Cell(digest(cursor.value()), cursor.expiresAtMillis()));
        }
      }
    }
    return new StoreContent(found);
  }

  static String line(int keyspace, byte[] key, byte[] value, long expiresAtMillis) {
    Cell cell = new Cell(digest(value), expiresAtMillis);
    return line(place(keyspace, new String(key, UTF_8)), cell);
  }

  static String digest(byte[] value) {
    return value.length + ":" + Arrays.hashCode(value);
  }

  private static String line(String place, Cell cell) {
    boolean lasts = cell.expiresAtMillis() == Long.MAX_VALUE;
    return place + "=" + cell.digest() + (lasts ? "" : "@" + cell.expiresAtMillis());
  }

  private static String place(int keyspace, String key) {
    return keyspace + "/" + key;
  }
}
