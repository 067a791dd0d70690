package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** Files that are not what was written: either the error says so, or only a torn end is missing. */
final class ManifestDamageTest {
  private static final String MANIFEST = "MANIFEST-000001";
  private static final StoreId STORE = new StoreId(1, 2);

  private final MemoryLedger ledger = new MemoryLedger();

  /** States after creation and after each edit, and where the manifest ended then. */
  private final List<String> states = new ArrayList<>();

  private final List<Long> ends = new ArrayList<>();

  private final CrashableStorage sound = new CrashableStorage();

  ManifestDamageTest() throws Exception {
    Random random = new Random(17);
    FileSetModel model = new FileSetModel();
    try (VersionSet set =
        VersionSet.create(sound, STORE, ledger, (tables, segments) -> {}, Readers.unbounded())) {
      note(set, model);
      for (int i = 0; i < 6; i++) {
        VersionEdit edit = model.edit(random, set::newFileNumber, set::newSegmentId);
        set.apply(edit);
        note(set, model.apply(edit));
      }
    }
  }

  @Test
  void anyFlippedBitOfTheManifestIsAnErrorUnlessItIsInTheMarkAtItsEnd() throws Exception {
    byte[] bytes = sound.contents(MANIFEST);
    long markAt = ends.get(ends.size() - 1);
    assertEquals(markAt + ManifestFormat.RECORD_HEADER_BYTES, bytes.length);
    for (int at = 0; at < bytes.length; at++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] damaged = bytes.clone();
        damaged[at] ^= (byte) (1 << bit);
        String found = open(damaged);
        assertEquals(at < markAt ? "error" : states.get(states.size() - 1), found, "at " + at);
      }
    }
  }

  @Test
  void withoutTheMarkADamagedLastEditIsTakenForTheOneThatACrashTore() throws Exception {
    int markAt = Math.toIntExact(ends.get(ends.size() - 1));
    byte[] bytes = Arrays.copyOf(sound.contents(MANIFEST), markAt);
    for (int at = Math.toIntExact(ends.get(ends.size() - 2)); at < bytes.length; at++) {
      byte[] damaged = bytes.clone();
      damaged[at] ^= 1;
      assertEquals(states.get(states.size() - 2), open(damaged), "at " + at);
    }
  }

  @Test
  void aManifestCutAnywhereKeepsTheWholeEdits() throws Exception {
    byte[] bytes = sound.contents(MANIFEST);
    for (int length = 0; length < bytes.length; length++) {
      int whole = 0;
      while (whole < ends.size() && ends.get(whole) <= length) {
        whole++;
      }
      String expected = whole == 0 ? "error" : states.get(whole - 1);
      assertEquals(expected, open(Arrays.copyOf(bytes, length)), "cut to " + length);
    }
  }

  @Test
  void bytesBehindTheLastEditAreATornEdit() throws Exception {
    byte[] bytes = sound.contents(MANIFEST);
    Random random = new Random(3);
    for (int more = 1; more < 600; more += 13) {
      byte[] longer = Arrays.copyOf(bytes, bytes.length + more);
      assertEquals(states.get(states.size() - 1), open(longer));
      for (int i = bytes.length; i < longer.length; i++) {
        longer[i] = (byte) random.nextInt();
      }
      assertEquals(states.get(states.size() - 1), open(longer));
    }
  }

  @Test
  void anEditInAnotherPlaceDoesNotHold() throws Exception {
    byte[] bytes = sound.contents(MANIFEST);
    int from = Math.toIntExact(ends.get(1));
    byte[] repeated = Arrays.copyOf(bytes, bytes.length + bytes.length - from);
    System.arraycopy(bytes, from, repeated, bytes.length, bytes.length - from);

    assertEquals(states.get(states.size() - 1), open(repeated));
  }

  @Test
  void anyFlippedBitOrMissingByteOfCurrentIsAnError() throws Exception {
    byte[] bytes = sound.contents("CURRENT");
    for (int at = 0; at < bytes.length; at++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] damaged = bytes.clone();
        damaged[at] ^= (byte) (1 << bit);
        assertEquals("error", open(damaged, sound.contents(MANIFEST)));
      }
      assertEquals("error", open(Arrays.copyOf(bytes, at), sound.contents(MANIFEST)));
    }
    byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
    assertEquals("error", open(longer, sound.contents(MANIFEST)));
  }

  @Test
  void damageNamesFileAndOffset() throws Exception {
    byte[] bytes = sound.contents(MANIFEST);
    bytes[Math.toIntExact(ends.get(2)) + 9] ^= 1;
    CrashableStorage storage = storage(sound.contents("CURRENT"), bytes);

    CorruptionException e = corruption(storage);

    assertEquals(MANIFEST, e.file());
    assertEquals(ends.get(2), e.offset());
  }

  @Test
  void foreignOldAndNewFilesAreToldApart() throws Exception {
    for (String name : List.of("CURRENT", MANIFEST)) {
      assertEquals(Reason.FOREIGN, reasonWith(name, header -> header.putLong(0, 0x617b8391)));
      assertEquals(Reason.TOO_OLD, reasonWith(name, header -> header.putInt(8, 0)));
      assertEquals(Reason.TOO_NEW, reasonWith(name, header -> header.putInt(8, 2)));
      assertEquals(Reason.TOO_NEW, reasonWith(name, header -> header.putInt(8, -1)));
    }
    CrashableStorage other = new CrashableStorage();
    VersionSet.create(
            other, new StoreId(3, 4), ledger, (tables, segments) -> {}, Readers.unbounded())
        .close();
    assertEquals(Reason.FOREIGN, reason(other.contents("CURRENT"), sound.contents(MANIFEST)));
  }

  @Test
  void anyFlippedBitOfAHeaderIsCorruption() throws Exception {
    byte[] current = sound.contents("CURRENT");
    byte[] manifest = sound.contents(MANIFEST);
    for (int bit = 0; bit < 8 * FileHeader.BYTES; bit++) {
      assertEquals("CURRENT", corruption(storage(flipped(current, bit), manifest)).file());
      assertEquals(MANIFEST, corruption(storage(current, flipped(manifest, bit))).file());
    }
  }

  private static byte[] flipped(byte[] sound, int bit) {
    byte[] damaged = sound.clone();
    damaged[bit / 8] ^= (byte) (1 << bit % 8);
    return damaged;
  }

  @Test
  void aMissingManifestIsCorruption() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    storage.replace("CURRENT", sound.contents("CURRENT"));

    CorruptionException e = corruption(storage);

    assertEquals(MANIFEST, e.file());
  }

  @Test
  void soundRecordsWithImpossibleEditsAreErrors() throws Exception {
    int end = Math.toIntExact(ends.get(ends.size() - 1));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 0));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 4, 1));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 6, 7, 1));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 6, 1, 999_999));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 9, 999_999));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 8, 999_999, 1));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 5, 1, 99, 5, Long.MAX_VALUE));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 5, 1, 99, 5, 30, 1, 2, 3));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 10, 0, 1, 'a'));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 10, 1, 0));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 10, 1, 2, 'a'));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 10, 1L << 32, 1, 'a'));
    assertThrows(
        CorruptionException.class, () -> openWithRecord(end, 10, 5, 1, 'a', 10, 5, 1, 'b'));
    assertThrows(
        CorruptionException.class, () -> openWithRecord(end, 10, 5, 1, 'a', 10, 6, 1, 'a'));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 11, 999_999));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 13, 999_999, 0));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 14, 999_998, 999_999));
    assertThrows(
        CorruptionException.class,
        () -> openWithRecord(end, 13, 999_999, 50, 14, 999_998, 999_999));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 16, 0, 0, 0, 0, 5, 3, 1));
    assertThrows(CorruptionException.class, () -> openWithRecord(end, 2, 1L << 62));
    long[] segment = {7, 999_999};
    long[] table = {5, 0, 999_997, 5, 2, 0, 'a', 2, 0, 'b', 1, 1, 1, 0, 0, 1, 0, 0, 0};
    long[] uses = {2, 999_999, Long.MAX_VALUE, 1, 999_999, Long.MAX_VALUE, 1};
    long[] tooMuch = Stream.of(segment, table, uses).flatMapToLong(LongStream::of).toArray();
    CorruptionException overflow =
        assertThrows(CorruptionException.class, () -> openWithRecord(end, tooMuch));
    assertTrue(overflow.toString().contains("overflow"), overflow::toString);
    IncompatibleFormatException e =
        assertThrows(
            IncompatibleFormatException.class,
            () -> openWithRecord(end, ManifestFormat.LAST_TAG + 1, 1));
    assertEquals(Reason.TOO_NEW, e.reason());
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void everyEditIsReadAsItWasWritten() {
    Seeds.each(
        getClass(),
        300,
        random -> {
          FileSetModel model = new FileSetModel();
          long[] numbers = {1, 1};
          for (int i = 0; i < 10; i++) {
            VersionEdit edit = model.edit(random, () -> numbers[0]++, () -> numbers[1]++);
            edit = edit.withCounters(numbers[0], numbers[1]);
            try (GrowingRegion scratch = new GrowingRegion(ledger, MemoryPurpose.COMMIT)) {
              long end = new EditEncoder(scratch, 8).encode(edit);
              VersionEdit read = new EditDecoder(scratch.region(), "m", 8, end - 8).decode();
              assertEquals(edit.toString(), read.toString());
              assertEquals(edit.addedTables(), read.addedTables());
              assertEquals(model.after(edit).text(), model.after(read).text());
            }
            model.apply(edit);
          }
        });
  }

  private void note(VersionSet set, FileSetModel model) {
    states.add(model.text());
    ends.add(set.manifestBytes());
  }

  private String open(byte[] manifest) throws Exception {
    return open(sound.contents("CURRENT"), manifest);
  }

  /** The state for reading and for writing, which are the same, or "error". */
  private String open(byte[] current, byte[] manifest) throws Exception {
    String reading = open(current, manifest, true);
    assertEquals(reading, open(current, manifest, false));
    return reading;
  }

  private String open(byte[] current, byte[] manifest, boolean readOnly) throws Exception {
    CrashableStorage storage = storage(current, manifest);
    try (VersionSet set =
        VersionSet.open(storage, readOnly, ledger, (tables, segments) -> {}, Readers.unbounded())) {
      return FileSetModel.text(set.current());
    } catch (CorruptionException | IncompatibleFormatException e) {
      assertTrue(Arrays.equals(manifest, storage.contents(MANIFEST)));
      assertEquals(List.of("CURRENT", MANIFEST), storage.list());
      return "error";
    } finally {
      assertEquals(List.of(), storage.openFiles());
      assertEquals(0, ledger.totalBytes());
    }
  }

  private static CrashableStorage storage(byte[] current, byte[] manifest) {
    CrashableStorage storage = new CrashableStorage();
    storage.replace("CURRENT", current);
    storage.replace(MANIFEST, manifest);
    return storage;
  }

  /** With a checksum that holds for what was changed. */
  private Reason reasonWith(String name, Consumer<ByteBuffer> change) throws Exception {
    byte[] bytes = sound.contents(name);
    ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    change.accept(header);
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, 36);
    header.putInt(36, (int) crc.getValue());
    return name.equals("CURRENT")
        ? reason(bytes, sound.contents(MANIFEST))
        : reason(sound.contents("CURRENT"), bytes);
  }

  private Reason reason(byte[] current, byte[] manifest) {
    return assertThrows(
            IncompatibleFormatException.class,
            () ->
                VersionSet.open(
                    storage(current, manifest),
                    false,
                    ledger,
                    (tables, segments) -> {},
                    Readers.unbounded()))
        .reason();
  }

  private void openWithRecord(int offset, long... numbers) throws Exception {
    byte[] manifest;
    Region region = ledger.allocate(MemoryPurpose.COMMIT, 1000);
    try {
      long end = 8;
      for (long number : numbers) {
        end = Varint.put(region, end, number);
      }
      region.putInt(0, (int) (end - 8));
      int crc = new NativeWindow().crc32c(region, 8, end - 8);
      region.putInt(4, crc ^ ManifestFormat.place(1, offset));
      manifest = Arrays.copyOf(sound.contents(MANIFEST), offset + (int) end);
      region.get(0, manifest, offset, (int) end);
    } finally {
      region.free();
    }
    VersionSet.open(
            storage(sound.contents("CURRENT"), manifest),
            false,
            ledger,
            (tables, segments) -> {},
            Readers.unbounded())
        .close();
  }

  private CorruptionException corruption(CrashableStorage storage) {
    return assertThrows(
        CorruptionException.class,
        () ->
            VersionSet.open(storage, false, ledger, (tables, segments) -> {}, Readers.unbounded()));
  }
}
