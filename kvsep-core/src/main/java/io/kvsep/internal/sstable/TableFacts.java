package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fields of {@link TableMeta} by name, to report a difference. */
final class TableFacts {
  private static final String HIDDEN_COUNT = "hiddenCount";

  private TableFacts() {}

  /** The file is not the table in the manifest. */
  static CorruptionException anotherTable(String file, TableMeta said, TableMeta found) {
    String difference = difference(said, found);
    return new CorruptionException(
        file, 0, "what the manifest says", difference == null ? "another table" : difference);
  }

  /** Null if there is none. */
  static @Nullable String difference(TableMeta said, TableMeta found) {
    Map<String, String> expected = facts(said);
    Map<String, String> actual = facts(found);
    if (said.hiddenCount() == 0) {
      // Earlier builds did not count them.
      expected.remove(HIDDEN_COUNT);
      actual.remove(HIDDEN_COUNT);
    }
    StringBuilder differences = new StringBuilder();
    for (Map.Entry<String, String> fact : expected.entrySet()) {
      String other = actual.remove(fact.getKey());
      if (!fact.getValue().equals(other)) {
        append(differences, fact.getKey(), fact.getValue(), other == null ? "none" : other);
      }
    }
    actual.forEach((fact, value) -> append(differences, fact, "none", value));
    return differences.isEmpty() ? null : differences.toString();
  }

  private static void append(StringBuilder text, String fact, String said, String found) {
    text.append(text.isEmpty() ? "" : ", ")
        .append(fact)
        .append(' ')
        .append(found)
        .append(" instead of ")
        .append(said);
  }

  private static Map<String, String> facts(TableMeta meta) {
    HexFormat hex = HexFormat.of();
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("number", Long.toString(meta.number()));
    facts.put("fileBytes", Long.toString(meta.fileBytes()));
    facts.put("smallestKey", hex.formatHex(meta.smallestKey()));
    facts.put("largestKey", hex.formatHex(meta.largestKey()));
    facts.put("smallestSequence", Long.toString(meta.smallestSequence()));
    facts.put("largestSequence", Long.toString(meta.largestSequence()));
    facts.put("entryCount", Long.toString(meta.entryCount()));
    facts.put("tombstoneCount", Long.toString(meta.tombstoneCount()));
    facts.put(HIDDEN_COUNT, Long.toString(meta.hiddenCount()));
    facts.put("rangeCount", Long.toString(meta.rangeCount()));
    facts.put("keyBytes", Long.toString(meta.keyBytes()));
    facts.put("expiringCount", Long.toString(meta.expiringCount()));
    facts.put("expiresAtMillisMin", Long.toString(meta.expiresAtMillisMin()));
    facts.put("expiresAtMillisMax", Long.toString(meta.expiresAtMillisMax()));
    for (SegmentUse use : meta.segments()) {
      facts.put(
          "segment " + use.segment(), use.liveBytes() + " bytes in " + use.records() + " records");
    }
    return facts;
  }
}
