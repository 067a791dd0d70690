package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.error.StoreNotFoundException;
import io.kvsep.internal.backup.ClosedStoreCopy;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.DirectoryState;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Copies of stores that are closed, or died, on a real disk and one that crashes. */
final class CopyStoreTest {
  private static final String NAME = "copy";
  private static final KvOptions READING = KvOptions.builder().readOnly(true).build();

  @TempDir Path folder;

  private Path source() {
    return folder.resolve("store");
  }

  private Path copy() {
    return folder.resolve("missing").resolve(NAME);
  }

  private static byte[] key(int n) {
    return ("key" + n).getBytes(UTF_8);
  }

  private static KvOptions shortSegments() {
    return KvOptions.builder().segmentBytes(1 << 20).build();
  }

  private static void put(KvStore store, int count, int length) {
    for (int i = 0; i < count; i++) {
      store.put(key(i), new byte[length]);
    }
  }

  /** Tables, several segments, a relocated file, a keyspace. */
  private KvStore filled() {
    KvStore store = KvStore.open(source(), shortSegments());
    put(store, 1_000, 3_000);
    store.flush();
    put(store, 500, 3_001);
    store.reclaim();
    store.in(store.keyspace("space")).put(key(1), new byte[] {7});
    put(store, 20, 2_000);
    return store;
  }

  private static String content(KvStore store) {
    StringBuilder text = new StringBuilder(ModelPast.describe(store));
    for (String name : store.keyspaces()) {
      text.append(name).append('\n').append(ModelPast.describe(store.in(store.keyspace(name))));
    }
    return text.toString();
  }

  @Test
  void aCopyIsAStoreOfItsOwn() throws IOException {
    KvStore store = filled();
    String content = content(store);
    store.close();
    DirectoryState before = DirectoryState.of(source());
    KvStore.copy(source(), copy());
    assertEquals(before, DirectoryState.of(source()));
    for (int i = 0; i < 2; i++) {
      try (KvStore opened = KvStore.open(copy(), shortSegments())) {
        assertEquals(content, content(opened));
        assertTrue(opened.verify().isSound());
        assertEquals(List.of(), opened.verify().unknownFiles());
        put(opened, 2_000, 1_500);
        opened.compact();
        opened.reclaim();
        opened.deleteRange(key(0), key(999_999));
        content = content(opened);
      }
    }
    assertEquals(before, DirectoryState.of(source()));
    try (Stream<Path> left = Files.list(copy().getParent())) {
      assertEquals(List.of(copy()), left.toList());
    }
  }

  @Test
  void theSourcesLaterLifeDoesNotTouchTheCopy() throws IOException {
    filled().close();
    KvStore.copy(source(), copy());
    DirectoryState before = DirectoryState.of(copy());
    for (int i = 0; i < 2; i++) {
      try (KvStore store = KvStore.open(source(), shortSegments())) {
        put(store, 2_000, 1_500);
        store.reclaim();
        store.compact();
      }
    }
    assertEquals(before, DirectoryState.of(copy()));
  }

  /** What was killed has a log to replay, and a segment to which an opening may append. */
  @Test
  void aCopyOfAStoreThatDiedIsRecoveredLikeIt() throws IOException {
    Path killed = Files.createDirectory(folder.resolve("killed"));
    String content;
    try (KvStore store = filled()) {
      content = content(store);
      store.sync();
      try (Stream<Path> files = Files.list(source())) {
        for (Path file : files.toList()) {
          Files.copy(file, killed.resolve(file.getFileName()));
        }
      }
    }
    DirectoryState before = DirectoryState.of(killed);
    KvStore.copy(killed, copy());
    assertEquals(before, DirectoryState.of(killed));
    try (KvStore opened = KvStore.open(copy(), shortSegments())) {
      assertEquals(content, content(opened));
      put(opened, 100, 100);
      opened.flush();
    }
    assertEquals(before, DirectoryState.of(killed));
    try (KvStore opened = KvStore.open(killed)) {
      assertEquals(content, content(opened));
    }
  }

  @Test
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "files have no number there")
  void whatNoOpeningChangesIsShared() throws IOException {
    filled().close();
    KvStore.copy(source(), copy());
    int shared = 0;
    try (Stream<Path> files = Files.list(copy())) {
      for (Path file : files.toList()) {
        boolean isShared = (int) Files.getAttribute(file, "unix:nlink") > 1;
        boolean isData = file.toString().endsWith(".sst") || file.toString().endsWith(".vlog");
        assertTrue(isData || !isShared, file::toString);
        shared += isShared ? 1 : 0;
      }
    }
    assertTrue(shared >= 3, "shared: " + shared);
  }

  @Test
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "no such permissions")
  void aSourceThatMayOnlyBeReadIsCopied() throws IOException {
    KvStore store = filled();
    String content = content(store);
    store.close();
    try (Stream<Path> files = Files.list(source())) {
      for (Path file : files.toList()) {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--r--r--"));
      }
    }
    Files.setPosixFilePermissions(source(), PosixFilePermissions.fromString("r-xr-xr-x"));
    try {
      KvStore.copy(source(), copy());
    } finally {
      Files.setPosixFilePermissions(source(), PosixFilePermissions.fromString("rwxr-xr-x"));
    }
    try (KvStore opened = KvStore.open(copy())) {
      assertEquals(content, content(opened));
    }
  }

  @Test
  void anOpenStoreIsNotCopiedUnlessItIsOpenForReading() {
    try (KvStore store = filled()) {
      assertThrows(StoreLockedException.class, () -> KvStore.copy(source(), copy()));
      assertArrayEquals(new byte[3_000], store.get(key(999)));
    }
    assertFalse(Files.exists(copy().getParent()));
    try (KvStore reading = KvStore.open(source(), READING)) {
      KvStore.copy(source(), copy());
      assertArrayEquals(new byte[3_000], reading.get(key(999)));
    }
    try (KvStore opened = KvStore.open(copy())) {
      assertArrayEquals(new byte[3_000], opened.get(key(999)));
    }
  }

  @Test
  void whatIsThereIsNotReplaced() throws IOException {
    filled().close();
    Path empty = Files.createDirectory(folder.resolve("empty"));
    Path file = Files.writeString(folder.resolve("file"), "text");
    for (Path taken : List.of(empty, file, folder)) {
      StorageException refused =
          assertThrows(StorageException.class, () -> KvStore.copy(source(), taken));
      assertTrue(refused.toString().contains("is there already"), refused::toString);
    }
    assertThrows(
        IllegalArgumentException.class, () -> KvStore.copy(source(), source().resolve("inside")));
    try (Stream<Path> all = Files.list(folder)) {
      assertEquals(3, all.count());
    }
  }

  @Test
  void whatIsNoStoreIsNotCopied() throws IOException {
    Path empty = Files.createDirectory(folder.resolve("empty"));
    Path file = Files.writeString(folder.resolve("file"), "text");
    for (Path none : List.of(empty, folder.resolve("absent"))) {
      assertThrows(StoreNotFoundException.class, () -> KvStore.copy(none, copy()));
      assertFalse(Files.exists(copy().getParent()), none::toString);
    }
    assertThrows(IncompatibleFormatException.class, () -> KvStore.copy(file, copy()));
  }

  @Test
  void aCopyOfAnEmptyStoreIsAnEmptyStore() {
    KvStore.open(source()).close();
    KvStore.copy(source(), copy());
    try (KvStore opened = KvStore.open(copy())) {
      assertEquals("", content(opened));
    }
  }

  @Test
  void aCrashLeavesAllOfACopyOrNothing() throws IOException {
    for (boolean links : new boolean[] {true, false}) {
      CrashableStorage first = new CrashableStorage();
      String content;
      try (KvStore store = new OpenStore(engine(first))) {
        put(store, 300, 300);
        store.in(store.keyspace("space")).put(key(1), key(2));
        content = content(store);
      }
      CrashableStorage source = first.crashKeepingAll();
      source.linksFiles(links);
      List<String> names = source.list();
      List<CrashableStorage> moments = new ArrayList<>();
      source.watch(moments::add);
      ClosedStoreCopy.run(source, /* isLocked= */ true, Path.of(NAME));
      source.watch(null);
      assertTrue(moments.size() > 10, "moments: " + moments.size());
      moments.add(source.moment());
      for (int i = 0; i < moments.size(); i++) {
        for (CrashableStorage after : moments.get(i).crashStates(20, i)) {
          boolean there = after.directories().contains(NAME);
          assertTrue(there || i < moments.size() - 1, "a copy that was made is gone");
          if (there) {
            try (KvStore opened = new OpenStore(engine(after.detached(NAME)))) {
              assertEquals(content, content(opened));
            }
          }
        }
      }
      assertEquals(names, source.list());
    }
  }

  /** A source without a lock file cannot be locked without a change of it. */
  @Test
  void aSourceThatIsOpenedDuringTheCopyFailsIt() throws IOException {
    CrashableStorage first = new CrashableStorage();
    try (KvStore store = new OpenStore(engine(first))) {
      put(store, 10, 300);
    }
    CrashableStorage source = first.crashKeepingAll();
    if (source.exists(StoreFiles.LOCK)) {
      source.delete(StoreFiles.LOCK);
    }
    source.watch(
        moment -> {
          source.watch(null);
          try {
            source.lock(StoreFiles.LOCK, /* shared= */ false).close();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
    assertThrows(
        IOException.class, () -> ClosedStoreCopy.run(source, /* isLocked= */ false, Path.of(NAME)));
    assertFalse(source.directories().contains(NAME));
  }

  private static StorageEngine engine(CrashableStorage storage) {
    return StorageEngine.open(Engines.config(storage, new ManualScheduler(1, 1)));
  }
}
