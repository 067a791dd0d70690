package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.sstable.TableFixture.Entry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A table knows how many of its entries are behind newer ones of the same key. */
final class HiddenCountTest {
  private final TableFixture fixture = new TableFixture();

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  private TableMeta write(List<Entry> entries) throws IOException {
    return fixture.write(1, TableFixture.options(128, 3), entries);
  }

  private static List<Entry> versions() {
    List<Entry> entries = new ArrayList<>();
    entries.add(TableFixture.put("a", 9, "newest"));
    entries.add(TableFixture.put("a", 5, "value ".repeat(40)));
    entries.add(TableFixture.put("a", 2, "in a block of its own"));
    entries.add(TableFixture.put("ab", 3, "the only one"));
    entries.add(TableFixture.delete("b", 7));
    entries.add(TableFixture.put("b", 4, "deleted"));
    return entries;
  }

  @Test
  void propertiesTellIt() throws IOException {
    TableMeta meta = write(versions());

    assertEquals(3, meta.hiddenCount());
    assertEquals(meta, fixture.properties(1));
  }

  @Test
  void oneVersionOfEachKeyHidesNone() throws IOException {
    TableMeta meta = write(List.of(TableFixture.put("a", 1, "1"), TableFixture.delete("b", 2)));

    assertEquals(0, meta.hiddenCount());
    assertEquals(meta, fixture.properties(1));
  }

  @Test
  void anotherNumberInTheManifestIsDamageUnlessItWasNotCounted() throws IOException {
    TableMeta meta = write(versions());

    assertEquals(0, problems(with(meta, 3)));
    assertEquals(0, problems(with(meta, 0)), "of an earlier build");
    assertEquals(1, problems(with(meta, 2)));
  }

  private int problems(TableMeta said) {
    List<CorruptionException> problems = new ArrayList<>();
    TableCheck table =
        TableCheck.open(fixture.storage, 1, TableFixture.STORE, fixture.ledger, problems::add);
    try (TableCheck check = Objects.requireNonNull(table)) {
      check.run((offset, key, length, tag, region, payload, payloadLength) -> {}, () -> {});
      check.compareWithManifest(said);
    }
    return problems.size();
  }

  private static TableMeta with(TableMeta meta, long hiddenCount) {
    return new TableMeta(
        meta.number(),
        meta.fileBytes(),
        meta.smallestKey(),
        meta.largestKey(),
        meta.smallestSequence(),
        meta.largestSequence(),
        meta.entryCount(),
        meta.tombstoneCount(),
        hiddenCount,
        meta.rangeCount(),
        meta.keyBytes(),
        meta.expiringCount(),
        meta.expiresAtMillisMin(),
        meta.expiresAtMillisMax(),
        meta.segments());
  }
}
