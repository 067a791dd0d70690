package io.kvsep.internal.backup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvsep.internal.backup.BackupFormat.Header;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A table has at least one entry. One of deleted ranges alone has a tombstone that no call wrote,
 * for the first key of the first range, which may be the empty one.
 */
final class RangeBackupTest {
  private static final byte[] EMPTY = {};
  private static final byte[] A = {'a'};
  private static final byte[] B = {'b'};
  private static final byte[] C = {'c'};
  private static final byte[] D = {'d'};

  private final StorageEngine source = open();
  private final StorageEngine target = open();

  private static StorageEngine open() {
    return Engines.open(new CrashableStorage(), new ManualScheduler(3, 2));
  }

  @AfterEach
  void close() {
    source.close();
    target.close();
  }

  private byte[] backup(long since) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    source.backups().backup(output, since);
    return output.toByteArray();
  }

  private long restore(byte[] backup) {
    return target.backups().restore(new ByteArrayInputStream(backup));
  }

  /** The records, keys in hexadecimal. */
  private static List<String> records(byte[] backup) throws IOException {
    List<String> records = new ArrayList<>();
    HexFormat hex = HexFormat.of();
    BackupReader reader = new BackupReader(new ByteArrayInputStream(backup), () -> {});
    while (reader.next()) {
      String key = hex.formatHex(reader.key());
      records.add(
          switch (reader.kind()) {
            case BackupFormat.KEYSPACE -> "keyspace " + reader.keyspaces().values();
            case BackupFormat.RANGE -> "range " + key + " " + hex.formatHex(reader.value());
            case BackupFormat.DELETE -> "delete " + key;
            default -> "put " + key;
          });
    }
    return records;
  }

  @Test
  void aTableOfARangeAloneIsARangeAndNoDelete() throws IOException {
    source.writes().put(0, A, new byte[] {1}, 0);
    source.flush();
    long first = restore(backup(0));
    source.writes().deleteRange(0, EMPTY, new byte[] {(byte) 0xff});
    source.flush();

    byte[] second = backup(first);
    assertEquals(List.of("range 00 00ff"), records(second));
    restore(second);
    assertNull(target.reads().get(0, A, StoreReads.LATEST));
  }

  /** Neither is one that lies deeper, in a keyspace, or among entries that were written. */
  @Test
  void whatWasWrittenInTheRangeIsAllThatStandsBesideIt() throws IOException {
    int space = source.keyspaces().open("space");
    SnapshotLease hold = source.reads().acquireSnapshot();
    source.writes().put(space, A, new byte[] {1}, 0);
    long first = restore(backup(0));
    source.writes().deleteRange(space, A, D);
    source.flush();
    source.writes().delete(space, B);
    source.writes().put(space, C, new byte[] {2}, 0);
    source.flush();
    String prefix = HexFormat.of().formatHex(Keyspaces.storedKey(space, EMPTY));
    List<String> expected =
        List.of(
            "keyspace [" + space + "]",
            "range %s61 %s64".formatted(prefix, prefix),
            "delete " + prefix + "62",
            "put " + prefix + "63");

    assertEquals(expected, records(backup(first)));
    source.compact();
    assertEquals(expected, records(backup(first)));
    source.reads().releaseSnapshot(hold);
  }

  @Test
  void aDeleteOfAnImpossibleKeyIsPassedOver() throws IOException {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    BackupWriter writer =
        new BackupWriter(output, new Header(new StoreId(1, 2), /* complete= */ true, 0, 9));
    writer.keyspace(1, "space");
    writer.range(new byte[] {0}, new byte[] {0, (byte) 0xff});
    writer.delete(new byte[] {0});
    writer.delete(Keyspaces.storedKey(0, new byte[Limits.KEY_BYTES_MAX + 1]));
    writer.delete(Keyspaces.storedKey(0, A));
    writer.delete(Keyspaces.storedKey(1, EMPTY));
    writer.finish();

    restore(output.toByteArray());
    ByteArrayOutputStream kept = new ByteArrayOutputStream();
    target.backups().backup(kept, 1);
    assertEquals(List.of("keyspace [1]", "delete 0061"), records(kept.toByteArray()));
  }
}
