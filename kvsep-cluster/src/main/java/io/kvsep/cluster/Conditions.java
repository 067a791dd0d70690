package io.kvsep.cluster;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** What conditions compare, read from any view. */
final class Conditions {
  private Conditions() {}

  /** The hash of an entry, or null if it is absent. */
  static byte @Nullable [] entry(KvReader view, byte[] key) {
    return view.readWithInfo(key, ContentHash::ofEntry);
  }

  /** As {@link ContentHash#ofRange}. */
  static ContentHash.Range range(
      KvReader view, byte @Nullable [] from, byte @Nullable [] to, int entriesMax) {
    try (KvCursor cursor = view.cursor(ScanOptions.range(from, to))) {
      return ContentHash.ofRange(cursor, entriesMax);
    }
  }

  /** Of all content, with its count, as text. */
  static String digest(KvReader view) {
    ContentHash.Range all = range(view, null, null, Integer.MAX_VALUE);
    return all.count() + " " + HexFormat.of().formatHex(all.hash());
  }
}
