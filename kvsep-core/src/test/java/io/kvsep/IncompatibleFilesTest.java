package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.error.KvException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is not a store of this version is told apart, foreign or too old or too new, and not a name
 * or byte of it is touched.
 */
final class IncompatibleFilesTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);
  private static final int VERSION_AT = 8;
  private static final int HEADER_CRC_AT = 36;

  @TempDir Path parent;
  private Path directory;

  @BeforeEach
  void makeDirectory() throws IOException {
    directory = Files.createDirectory(parent.resolve("store"));
  }

  @Test
  void aFolderWithFilesOfAnotherProgramIsForeign() throws IOException {
    Files.writeString(directory.resolve("holiday.jpg"), "not a store");
    Files.createDirectory(directory.resolve("folder"));
    refused(Reason.FOREIGN, KvOptions.defaults());
    refused(Reason.FOREIGN, KvOptions.builder().exclusive(true).build());
    refused(Reason.FOREIGN, KvOptions.builder().readOnly(true).build());
  }

  @Test
  void theStoreOfARelatedEngineIsForeign() throws IOException {
    Files.writeString(directory.resolve("CURRENT"), "MANIFEST-000004\n");
    Files.writeString(directory.resolve("MANIFEST-000004"), "something of its own");
    Files.writeString(directory.resolve("000005.log"), "something of its own");
    Files.writeString(directory.resolve("000006.sst"), "something of its own");
    Files.writeString(directory.resolve("IDENTITY"), "an id");
    refused(Reason.FOREIGN, KvOptions.defaults());
  }

  @Test
  void aForeignFileInPlaceOfCurrentIsForeign() throws IOException {
    makeStore();
    byte[] foreign = new byte[40];
    System.arraycopy("GIF89a and so on".getBytes(UTF_8), 0, foreign, 0, 16);
    Files.write(directory.resolve("CURRENT"), foreign);
    assertEquals("CURRENT", refused(Reason.FOREIGN, KvOptions.defaults()).file());
  }

  @Test
  void filesOfALaterVersionAreTooNew() throws IOException {
    makeStore();
    for (Path file : headedFiles()) {
      withVersion(file, 2, Reason.TOO_NEW);
      withVersion(file, Integer.MAX_VALUE, Reason.TOO_NEW);
    }
  }

  @Test
  void filesOfAnEarlierVersionAreTooOld() throws IOException {
    makeStore();
    for (Path file : headedFiles()) {
      withVersion(file, 0, Reason.TOO_OLD);
    }
  }

  @Test
  void theManifestOfAnotherStoreIsForeign() throws IOException {
    makeStore();
    Path other = parent.resolve("other");
    KvStore.open(other).close();
    Path manifest = only("MANIFEST-");
    Path otherManifest = only(other, "MANIFEST-");
    Files.delete(manifest);
    Files.copy(otherManifest, manifest);
    KvException error = refused(Reason.FOREIGN, KvOptions.defaults());
    assertTrue(error.toString().contains("another store"), error::toString);
  }

  @Test
  void aRegularFileInPlaceOfTheDirectoryIsForeign() throws IOException {
    Path file = Files.writeString(parent.resolve("file"), "content");
    IncompatibleFormatException error =
        assertThrows(IncompatibleFormatException.class, () -> KvStore.open(file));
    assertEquals(Reason.FOREIGN, error.reason());
    assertEquals("content", Files.readString(file));
  }

  @Test
  void aMissingStoreIsNotMadeWhenItMayNotBe() throws IOException {
    Path missing = parent.resolve("missing");
    for (KvOptions options :
        List.of(
            KvOptions.builder().createIfMissing(false).build(),
            KvOptions.builder().readOnly(true).build())) {
      for (Path none : List.of(missing, directory)) {
        StoreNotFoundException error =
            assertThrows(StoreNotFoundException.class, () -> KvStore.open(none, options).close());
        assertTrue(error.toString().contains(none.toString()), error::toString);
      }
      assertFalse(Files.exists(missing));
      assertEquals(Map.of(), listing(directory));
    }
  }

  @Test
  void anExistingStoreIsRefusedWhenThereMayBeNone() throws IOException {
    makeStore();
    Map<String, String> before = listing(directory);
    KvOptions exclusive = KvOptions.builder().exclusive(true).build();
    assertThrows(StorageException.class, () -> KvStore.open(directory, exclusive));
    assertEquals(before, listing(directory));
    stillOpens();
  }

  @Test
  void anEmptyOrMissingDirectoryBecomesAStore() throws IOException {
    KvStore.open(parent.resolve("a/b/c")).close();
    KvStore.open(directory, KvOptions.builder().exclusive(true).build()).close();
    Path hidden = Files.createDirectory(parent.resolve("hidden"));
    Files.writeString(hidden.resolve(".harmless"), "of the desktop");
    KvStore.open(hidden).close();
    KvStore.open(hidden, KvOptions.builder().readOnly(true).build()).close();
  }

  @Test
  void readingAloneChangesNothing() throws IOException {
    makeStore();
    try (KvStore store = KvStore.open(directory)) {
      store.put(KEY, VALUE);
      Map<String, String> before = listing(directory);
      assertFalse(before.isEmpty());
    }
    Map<String, String> before = listing(directory);
    try (KvStore store = KvStore.open(directory, KvOptions.builder().readOnly(true).build())) {
      assertArrayEquals(VALUE, store.get(KEY));
      try (KvCursor cursor = store.cursor()) {
        assertTrue(cursor.next());
      }
      assertThrows(ReadOnlyStoreException.class, () -> store.put(KEY, VALUE));
      assertThrows(ReadOnlyStoreException.class, store::flush);
    }
    assertEquals(before, listing(directory));
  }

  private void makeStore() {
    try (KvStore store = KvStore.open(directory)) {
      store.put(KEY, VALUE);
      store.put("large".getBytes(UTF_8), new byte[10_000]);
    }
  }

  private void withVersion(Path file, int version, Reason expected) throws IOException {
    byte[] sound = Files.readAllBytes(file);
    ByteBuffer changed = ByteBuffer.wrap(sound.clone()).order(ByteOrder.LITTLE_ENDIAN);
    changed.putInt(VERSION_AT, version);
    CRC32C crc = new CRC32C();
    crc.update(changed.array(), 0, HEADER_CRC_AT);
    changed.putInt(HEADER_CRC_AT, (int) crc.getValue());
    Files.write(file, changed.array());
    String name = file.getFileName().toString();
    assertEquals(name, refused(expected, KvOptions.defaults()).file());
    if (expected == Reason.TOO_NEW && (name.equals("CURRENT") || name.startsWith("MANIFEST-"))) {
      assertNotRepaired(name);
    }
    Files.write(file, sound);
    stillOpens();
  }

  /** A repair by an earlier release would lose what only the later one knows. */
  private void assertNotRepaired(String file) {
    Path target = parent.resolve("repaired");
    IncompatibleFormatException error =
        assertThrows(IncompatibleFormatException.class, () -> KvStore.repair(directory, target));
    assertEquals(file, error.file());
    assertTrue(error.toString().contains(" is of a later release of kvsep"), error::toString);
    assertFalse(Files.exists(target));
  }

  /** Opens, which has to fail for that reason and leave everything as it was. */
  private IncompatibleFormatException refused(Reason reason, KvOptions options) throws IOException {
    Map<String, String> before = listing(directory);
    IncompatibleFormatException error =
        assertThrows(
            IncompatibleFormatException.class, () -> KvStore.open(directory, options).close());
    assertEquals(reason, error.reason(), error::getMessage);
    assertEquals(before, listing(directory), "nothing was touched");
    return error;
  }

  private void stillOpens() {
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore store = KvStore.open(directory, reading)) {
      assertArrayEquals(VALUE, store.get(KEY));
    }
  }

  /** CURRENT, the manifest, and the newest segment, whose headers are alike and read at open. */
  private List<Path> headedFiles() throws IOException {
    return List.of(directory.resolve("CURRENT"), only("MANIFEST-"), only(directory, ".vlog"));
  }

  private Path only(String part) throws IOException {
    return only(directory, part);
  }

  private static Path only(Path directory, String part) throws IOException {
    List<Path> found = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      files.filter(file -> file.getFileName().toString().contains(part)).forEach(found::add);
    }
    assertEquals(1, found.size(), () -> "files with " + part + ": " + found);
    return found.get(0);
  }

  /** Names and bytes of everything in the directory, but not the bytes of the lock file. */
  static Map<String, String> listing(Path directory) throws IOException {
    Map<String, String> listing = new TreeMap<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        listing.put(
            file.getFileName().toString(),
            Files.isRegularFile(file)
                ? HexFormat.of().formatHex(Files.readAllBytes(file))
                : "directory");
      }
    }
    return listing;
  }
}
