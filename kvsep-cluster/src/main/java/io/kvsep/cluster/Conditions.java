package io.kvsep.cluster;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** What conditions compare, read from any view. */
final class Conditions {
  /** Every node reads the range while other writes wait. */
  static final int RANGE_ENTRIES_MAX = 65_536;

  /** Of keys and values of a range; a transaction that scanned more is refused. */
  static final long RANGE_BYTES_MAX = 64 << 20;

  private Conditions() {}

  /** The hash of an entry, or null if it is absent. */
  static byte @Nullable [] entry(KvReader view, byte[] key) {
    return view.readWithInfo(key, ContentHash::ofEntry);
  }

  /** As {@link ContentHash#ofRange}, with {@link #RANGE_BYTES_MAX}. */
  static ContentHash.Range range(
      KvReader view, byte @Nullable [] from, byte @Nullable [] to, int entriesMax) {
    try (KvCursor cursor = view.cursor(ScanOptions.range(from, to))) {
      return ContentHash.ofRange(cursor, entriesMax, RANGE_BYTES_MAX);
    }
  }

  /** Of all content, with its count, as text. */
  static String digest(KvReader view) {
    ContentHash.Range all;
    try (KvCursor cursor = view.cursor()) {
      all = ContentHash.ofRange(cursor, Integer.MAX_VALUE - 1, Long.MAX_VALUE);
    }
    return all.count() + " " + HexFormat.of().formatHex(all.hash());
  }
}
