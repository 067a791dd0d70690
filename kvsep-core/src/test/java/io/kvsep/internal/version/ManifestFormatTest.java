package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/**
 * The bytes on disk, which later versions must be able to read. Shown in docs/formats/manifest.md.
 */
final class ManifestFormatTest {
  private static final String CURRENT =
      """
      4b5653455043555201000000887766554433221100ffeeddccbbaa990100000000000000600ff06b
      """;

  /** The header, each record with its fields apart, and the mark. */
  private static final String MANIFEST =
      """
      4b565345504d414e01000000887766554433221100ffeeddccbbaa990100000000000000f62c2f83
      0b000000860ef806 0102 0201 0300 040000 1200
      06000000531bc508 0102 0202 0701
      2b00000004ca8593 010a 0202 03ac02 040128
          050007bd05056170706c650470656172070e1b0701b410029c31d8360101882703
      0b0000001c4152b4 0114 0203 0702 0801808004
      070000004f659fe6 0114 0203 060007
      06000000b25ac549 0114 0203 0901
      000000001b4d2884
      """;

  @Test
  void bytesAreTheOnesOfFormatVersionOne() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    write(storage);

    assertEquals(hex(bytes(CURRENT)), hex(storage.contents("CURRENT")));
    assertEquals(hex(bytes(MANIFEST)), hex(storage.contents("MANIFEST-000001")));
  }

  @Test
  void bytesOfFormatVersionOneAreRead() throws Exception {
    CrashableStorage written = new CrashableStorage();
    FileSetModel model = write(written);
    CrashableStorage storage = new CrashableStorage();
    storage.replace("CURRENT", bytes(CURRENT));
    storage.replace("MANIFEST-000001", bytes(MANIFEST));

    MemoryLedger ledger = new MemoryLedger();
    try (VersionSet set =
        VersionSet.open(storage, true, ledger, (tables, segments) -> {}, Readers.unbounded())) {
      assertEquals(model.text(), FileSetModel.text(set.current()));
      assertEquals(new StoreId(0x1122334455667788L, 0x99aabbccddeeff00L), set.storeId());
      assertEquals(20, set.newFileNumber());
      assertEquals(3, set.newSegmentId());
    }
  }

  @Test
  void ofWhatAnEarlierBuildHasDroppedNothingIsPromised() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    VersionEdit snapshot =
        new VersionEdit()
            .nextFileNumber(2)
            .nextSegmentId(5)
            .lastSequence(300)
            .replayFrom(new LogPosition(4, 40))
            .addSegment(4);
    FileHeader header = new FileHeader(new StoreId(1, 2), 1);
    DurableOutput output = new DurableOutput(storage, new MemoryLedger());
    ManifestWriter.create(output, header, snapshot).close();
    CurrentFile.prepare(output, header);
    CurrentFile.install(output);
    for (boolean readOnly : new boolean[] {true, false, true}) {
      try (VersionSet set =
          VersionSet.open(
              storage,
              readOnly,
              new MemoryLedger(),
              (tables, segments) -> {},
              Readers.unbounded())) {
        assertEquals(300, set.current().history().lostChange());
        if (!readOnly) {
          set.beginWriting();
        }
        assertEquals(300, set.current().history().lostChange());
        set.check(
            problem -> {
              throw problem;
            });
      }
    }
  }

  /** A new store and one edit of each kind. */
  private static FileSetModel write(CrashableStorage storage) throws Exception {
    StoreId storeId = new StoreId(0x1122334455667788L, 0x99aabbccddeeff00L);
    FileSetModel model = new FileSetModel();
    VersionEdit[] edits = {
      new VersionEdit().addSegment(1),
      new VersionEdit()
          .nextFileNumber(10)
          .lastSequence(300)
          .replayFrom(new LogPosition(1, 40))
          .addTable(
              0, FileSetModel.meta(7, ascii("apple"), ascii("pear"), new SegmentUse(1, 5000, 3))),
      new VersionEdit()
          .nextFileNumber(20)
          .sealSegment(1, 65_536, SegmentState.UNKNOWN)
          .addSegment(2),
      new VersionEdit().removeTable(0, 7),
      new VersionEdit().removeSegment(1),
    };
    try (VersionSet set =
        VersionSet.create(
            storage, storeId, new MemoryLedger(), (tables, segments) -> {}, Readers.unbounded())) {
      for (VersionEdit edit : edits) {
        set.apply(edit);
        model.apply(edit);
      }
    }
    return model;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static byte[] bytes(String text) {
    return HexFormat.of().parseHex(text.replaceAll("\\s", ""));
  }
}
