package io.kvsep.internal.io;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is damaged, what is foreign, and what is of another version. */
final class FileHeaderTest {
  private static final FileKind KIND = new FileKind("KVSEPONE", 3, 4, "a one");
  private static final FileKind OTHER = new FileKind("kvseptwo", 1, 1, "a two");
  private static final StoreId STORE = new StoreId(0x1122334455667788L, 0x99aabbccddeeff00L);
  private static final FileHeader HEADER = new FileHeader(STORE, 5);

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region region = ledger.allocate(MemoryPurpose.READ, FileHeader.BYTES);
  private final NativeWindow window = new NativeWindow();

  @AfterEach
  void free() {
    region.free();
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void whatWasPutIsRead() {
    assertEquals(
        "4b565345504f4e45" + "04000000" + "887766554433221100ffeeddccbbaa99" + "0500000000000000",
        HexFormat.of().formatHex(bytes(KIND), 0, 36));
    assertEquals(HEADER, read(bytes(KIND), FileHeader.BYTES));
    assertEquals(HEADER, read(bytes(new FileKind("KVSEPONE", 3, 3, "a one")), FileHeader.BYTES));
  }

  @Test
  void anyFlippedBitIsDamage() {
    for (int bit = 0; bit < 8 * FileHeader.BYTES; bit++) {
      byte[] damaged = bytes(KIND);
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      CorruptionException e =
          assertThrows(CorruptionException.class, () -> read(damaged, FileHeader.BYTES));
      assertEquals("file", e.file());
      assertEquals(bit < 64 ? 0 : 36, e.offset());
    }
  }

  @Test
  void anyMagicOverASoundRestIsDamage() {
    byte[] damaged = bytes(KIND);
    Arrays.fill(damaged, 0, 8, (byte) 0);
    assertThrows(CorruptionException.class, () -> read(damaged, FileHeader.BYTES));
  }

  @Test
  void anotherKindOfFileIsDamage() {
    assertThrows(CorruptionException.class, () -> read(bytes(OTHER), FileHeader.BYTES));
  }

  @Test
  void zerosAreDamage() {
    for (int length = 0; length <= FileHeader.BYTES; length++) {
      int cut = length;
      assertThrows(CorruptionException.class, () -> read(new byte[FileHeader.BYTES], cut));
    }
  }

  @Test
  void aCutHeaderIsDamage() {
    for (int length = 0; length < FileHeader.BYTES; length++) {
      int cut = length;
      CorruptionException e = assertThrows(CorruptionException.class, () -> read(bytes(KIND), cut));
      assertEquals(length, e.offset());
    }
  }

  @Test
  void filesOfOthersAreForeign() {
    assertEquals(Reason.FOREIGN, reason("MANIFEST-000004\n".getBytes(US_ASCII)));
    assertEquals(Reason.FOREIGN, reason("GIF89a".repeat(7).getBytes(US_ASCII)));
    assertEquals(Reason.FOREIGN, reason("kvsep is what these notes are about".getBytes(US_ASCII)));
    byte[] ofAnotherFamily = bytes(new FileKind("PEVSKONE", 3, 4, "a one"));
    assertEquals(Reason.FOREIGN, reason(ofAnotherFamily));
  }

  @Test
  void otherVersionsAreTooOldOrTooNew() {
    assertEquals(Reason.TOO_OLD, reason(bytes(new FileKind("KVSEPONE", 1, 2, "a one"))));
    assertEquals(Reason.TOO_OLD, reason(bytes(new FileKind("KVSEPONE", 0, 0, "a one"))));
    assertEquals(Reason.TOO_NEW, reason(bytes(new FileKind("KVSEPONE", 5, 5, "a one"))));
    assertEquals(Reason.TOO_NEW, reason(bytes(new FileKind("KVSEPONE", -1, -1, "a one"))));
  }

  @Test
  void storeAndNumberAreRequired() {
    HEADER.require(STORE, 5, KIND, "file");
    IncompatibleFormatException foreign =
        assertThrows(
            IncompatibleFormatException.class,
            () -> HEADER.require(new StoreId(1, 2), 5, KIND, "file"));
    assertEquals(Reason.FOREIGN, foreign.reason());
    assertThrows(CorruptionException.class, () -> HEADER.require(STORE, 6, KIND, "file"));
  }

  private byte[] bytes(FileKind kind) {
    HEADER.put(region, kind, window);
    byte[] bytes = new byte[FileHeader.BYTES];
    region.get(0, bytes, 0, bytes.length);
    return bytes;
  }

  private FileHeader read(byte[] bytes, long length) {
    region.put(0, bytes, 0, Math.min(bytes.length, FileHeader.BYTES));
    return FileHeader.read(region, length, KIND, "file", window);
  }

  private Reason reason(byte[] bytes) {
    return assertThrows(IncompatibleFormatException.class, () -> read(bytes, bytes.length))
        .reason();
  }
}
