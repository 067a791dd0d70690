package io.kvsep.internal.backup;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Backups whose checksums hold and whose records are such as no store has. */
final class ForgedBackupTest {
  private interface Records {
    void write(BackupWriter writer) throws IOException;
  }

  private static byte[] backup(Records records) {
    try {
      ByteArrayOutputStream output = new ByteArrayOutputStream();
      BackupWriter writer =
          new BackupWriter(output, new BackupFormat.Header(new StoreId(1, 2), true, 0, 9));
      records.write(writer);
      writer.finish();
      return output.toByteArray();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Refused without a change, so that another one is restored all the same. */
  private static void refused(byte[] backup) {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = open(storage)) {
      CorruptionException e =
          assertThrows(CorruptionException.class, () -> restore(engine, backup));
      int block = BackupFormat.BLOCK_HEADER_BYTES + BackupFormat.BLOCK_BYTES;
      assertEquals(0, (e.offset() - BackupFormat.HEADER_BYTES) % block, "where a block begins");
      restore(engine, backup(writer -> writer.put(stored(0, "k"), 5_000, value(7))));
    }
    try (StorageEngine again = open(storage.crashKeepingAll())) {
      assertArrayEquals(
          new byte[] {7}, again.reads().get(0, "k".getBytes(UTF_8), StoreReads.LATEST));
    }
  }

  private static StorageEngine open(CrashableStorage storage) {
    return Engines.open(storage, new ManualScheduler(1, 1));
  }

  private static void restore(StorageEngine engine, byte[] backup) {
    engine.backups().restore(new ByteArrayInputStream(backup));
  }

  private static byte[] stored(int keyspace, String key) {
    return Keyspaces.storedKey(keyspace, key.getBytes(UTF_8));
  }

  private static ByteBuffer value(int only) {
    return ByteBuffer.wrap(new byte[] {(byte) only});
  }

  /** Each byte that is none would become three. */
  @Test
  void aNameThatIsNotUtf8() {
    String marks = "?".repeat(Limits.KEYSPACE_NAME_BYTES_MAX);
    byte[] backup = backup(writer -> writer.keyspace(1, marks));
    for (int i = 0; i < backup.length; i++) {
      backup[i] = backup[i] == '?' ? (byte) 0xff : backup[i];
    }
    refused(withChecksums(backup));
  }

  /** A backup of one block. */
  private static byte[] withChecksums(byte[] backup) {
    ByteBuffer bytes = BackupFormat.buffer(backup);
    int chain = BackupFormat.crc(backup, BackupFormat.HEADER_BYTES);
    int trailerAt = backup.length - BackupFormat.TRAILER_BYTES;
    byte[] block = Arrays.copyOfRange(backup, BackupFormat.HEADER_BYTES, trailerAt);
    chain = BackupFormat.chained(chain, block, block.length);
    bytes.putInt(BackupFormat.HEADER_BYTES + 4, chain);
    byte[] trailer = Arrays.copyOfRange(backup, trailerAt, backup.length);
    bytes.putInt(trailerAt + 4, BackupFormat.chained(chain, trailer, trailer.length));
    return backup;
  }

  @Test
  void anIdBehindWhichThereIsNoOther() {
    refused(backup(writer -> writer.keyspace(Keyspaces.ID_MAX + 1, "name")));
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = open(storage)) {
      restore(engine, backup(writer -> writer.keyspace(Keyspaces.ID_MAX, "name")));
    }
    for (int i = 0; i < 2; i++) {
      storage = storage.crashKeepingAll();
      open(storage).close();
    }
  }

  @Test
  void oneKeyspaceTwice() {
    refused(
        backup(
            writer -> {
              writer.keyspace(1, "a");
              writer.keyspace(1, "b");
            }));
    refused(
        backup(
            writer -> {
              writer.keyspace(1, "a");
              writer.keyspace(2, "a");
            }));
  }

  @Test
  void aKeyspaceWithoutName() {
    refused(backup(writer -> writer.put(stored(3, "key"), SnapshotCursor.NEVER, value(1))));
  }

  @Test
  void keysThatNoStoreCanHave() {
    refused(backup(writer -> writer.put(stored(0, ""), SnapshotCursor.NEVER, value(1))));
    String tooLong = "k".repeat(Limits.KEY_BYTES_MAX + 1);
    refused(backup(writer -> writer.put(stored(0, tooLong), SnapshotCursor.NEVER, value(1))));
  }

  /** It would be stored under another key than it has. */
  @Test
  void aKeyspaceWithALongerPrefixThanItHas() {
    byte[] key = {(byte) Keyspaces.LONG_FORM, 0, 0, 0, 0, 'k'};
    refused(backup(writer -> writer.put(key, SnapshotCursor.NEVER, value(1))));
  }

  @Test
  void aMomentBefore1970() {
    refused(backup(writer -> writer.put(stored(0, "key"), -1, value(1))));
    refused(backup(writer -> writer.put(stored(0, "key"), 0, value(1))));
  }
}
