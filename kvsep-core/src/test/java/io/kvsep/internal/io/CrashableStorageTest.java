package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.CrashSpace;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class CrashableStorageTest extends StorageContract {
  private static final int SECTOR_BYTES = 512;

  private CrashableStorage disk;

  @Override
  protected Storage emptyStorage() {
    return new CrashableStorage();
  }

  @Override
  protected Path beside(String name) {
    return Path.of(name);
  }

  @BeforeEach
  void nameTheDisk() {
    disk = (CrashableStorage) storage;
  }

  private void writeDurable(String name, byte... bytes) throws IOException {
    try (StorageFile file = storage.create(name)) {
      file.write(direct(bytes), 0);
      file.sync();
    }
    storage.syncDirectory();
  }

  private static byte[] filled(int length, int value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  /** Every distinct content of the file, "-" where it is absent. */
  private static Set<String> outcomes(List<CrashableStorage> states, String name)
      throws IOException {
    Set<String> outcomes = new TreeSet<>();
    for (CrashableStorage state : states) {
      outcomes.add(state.exists(name) ? Arrays.toString(state.contents(name)) : "-");
    }
    return outcomes;
  }

  @Test
  void whatWasSyncedSurvivesEveryCrash() throws IOException {
    writeDurable("a", (byte) 1, (byte) 2);

    assertEquals(Set.of("[1, 2]"), outcomes(disk.crashStates(100), "a"));
    assertArrayEquals(new byte[] {1, 2}, disk.crashSyncedOnly().contents("a"));
    assertArrayEquals(new byte[] {1, 2}, disk.crashKeepingAll().contents("a"));
    assertArrayEquals(new byte[] {1, 2}, disk.crash(new Random(1)).contents("a"));
  }

  @Test
  void fileSyncDoesNotMakeItsNameDurable() throws IOException {
    try (StorageFile file = storage.create("a")) {
      file.write(direct((byte) 1), 0);
      file.sync();
    }

    assertEquals(Set.of("-", "[1]"), outcomes(disk.crashStates(100), "a"));
    assertFalse(disk.crashSyncedOnly().exists("a"));
  }

  @Test
  void directorySyncDoesNotMakeContentDurable() throws IOException {
    write("a", (byte) 1);
    storage.syncDirectory();

    assertArrayEquals(new byte[0], disk.crashSyncedOnly().contents("a"));
  }

  @Test
  void writeWithinOneSectorIsThereOrOldOrGarbageOrOnlyLength() throws IOException {
    writeDurable("a", filled(4, 1));
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct(filled(4, 2)), 4);
    }
    boolean garbage = false;
    Set<String> plain = new HashSet<>();

    for (int seed = 0; seed < 2_000; seed++) {
      byte[] left = disk.crash(new Random(seed)).contents("a");
      assertArrayEquals(filled(4, 1), Arrays.copyOf(left, 4), "synced bytes were harmed: " + seed);
      String tail = Arrays.toString(Arrays.copyOfRange(left, 4, left.length));
      if (Set.of("[]", "[0, 0, 0, 0]", "[2, 2, 2, 2]").contains(tail)) {
        plain.add(tail);
      } else {
        garbage = true;
      }
    }

    assertEquals(Set.of("[]", "[0, 0, 0, 0]", "[2, 2, 2, 2]"), plain);
    assertTrue(garbage);
  }

  @Test
  void longWritesTearAtSectorsOnly() throws IOException {
    byte[] old = filled(8 * SECTOR_BYTES, 1);
    writeDurable("a", old);
    int start = 100;
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct(filled(5 * SECTOR_BYTES, 2)), start);
    }
    boolean kept = false;
    boolean dropped = false;
    boolean torn = false;
    boolean garbage = false;

    for (int seed = 0; seed < 2_000; seed++) {
      byte[] left = disk.crash(new Random(seed)).contents("a");
      assertEquals(old.length, left.length);
      int sectorsNew = 0;
      int sectorsOld = 0;
      for (int sector = 0; sector < 6; sector++) {
        int from = Math.max(start, sector * SECTOR_BYTES);
        int to = Math.min(start + 5 * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES);
        byte[] part = Arrays.copyOfRange(left, from, to);
        sectorsNew += Arrays.equals(part, filled(to - from, 2)) ? 1 : 0;
        sectorsOld += Arrays.equals(part, filled(to - from, 1)) ? 1 : 0;
      }
      kept |= sectorsNew == 6;
      dropped |= sectorsOld == 6;
      torn |= sectorsNew > 0 && sectorsOld > 0;
      garbage |= sectorsNew + sectorsOld < 6;
      assertArrayEquals(filled(start, 1), Arrays.copyOf(left, start));
    }

    assertTrue(kept && dropped && torn && garbage);
  }

  @Test
  void unsyncedWritesSurviveIndependently() throws IOException {
    writeDurable("a", (byte) 0, (byte) 0);
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct((byte) 1), 0);
      file.write(direct((byte) 2), 1);
    }

    List<CrashableStorage> states = disk.crashStates(100);

    assertEquals(9, states.size());
    Set<String> outcomes = outcomes(states, "a");
    assertTrue(outcomes.containsAll(Set.of("[0, 0]", "[1, 0]", "[0, 2]", "[1, 2]")));
  }

  @Test
  void truncateMayBeLostButNotTorn() throws IOException {
    writeDurable("a", (byte) 1, (byte) 2);
    try (StorageFile file = storage.open("a", true)) {
      file.truncate(1);
    }

    List<CrashableStorage> states = disk.crashStates(100);

    assertEquals(2, states.size());
    assertEquals(Set.of("[1]", "[1, 2]"), outcomes(states, "a"));
  }

  @Test
  void renameIsAtomicAndMayBeLost() throws IOException {
    writeDurable("old", (byte) 1);
    writeDurable("new", (byte) 2);
    storage.rename("new", "old");

    Set<String> outcomes = new HashSet<>();
    for (CrashableStorage state : disk.crashStates(100)) {
      outcomes.add(state.list() + Arrays.toString(state.contents("old")));
    }

    assertEquals(Set.of("[old][2]", "[new, old][1]"), outcomes);
  }

  @Test
  void deletedFileMayComeBack() throws IOException {
    writeDurable("a", (byte) 1);
    storage.delete("a");

    assertEquals(Set.of("-", "[1]"), outcomes(disk.crashStates(100), "a"));
  }

  @Test
  void changesOfOneNameKeepTheirOrder() throws IOException {
    writeDurable("a", (byte) 1);
    storage.delete("a");
    try (StorageFile file = storage.create("a")) {
      file.write(direct((byte) 2), 0);
      file.sync();
    }
    storage.rename("a", "b");
    try (StorageFile file = storage.create("c")) {
      file.sync();
    }

    Set<String> names = new HashSet<>();
    for (CrashableStorage state : disk.crashStates(100)) {
      names.add(state.list().toString());
    }

    assertEquals(
        Set.of("[a]", "[]", "[b]", "[a, c]", "[c]", "[b, c]"), names, "independent names are free");
    for (int seed = 0; seed < 500; seed++) {
      assertTrue(names.contains(disk.crash(new Random(seed)).list().toString()), "seed " + seed);
    }
  }

  @Test
  void everyEnumeratedStateIsMadeAnewAndTheSame() throws IOException {
    write("a", random(2_000, 1));
    storage.syncDirectory();
    List<CrashableStorage> states = disk.crashStates(10);

    for (int i = 0; i < states.size(); i++) {
      byte[] before = states.get(i).contents("a");
      states.get(i).replace("a", new byte[1]);
      assertArrayEquals(before, states.get(i).contents("a"));
    }
  }

  @Test
  void moreStatesThanTheLimitAreDrawn() throws IOException {
    writeDurable("a");
    try (StorageFile file = storage.open("a", true)) {
      for (int i = 0; i < 20; i++) {
        file.write(direct((byte) (i + 1)), i);
      }
    }

    List<CrashableStorage> states = disk.crashStates(50, 7);

    assertEquals(50, states.size());
    assertArrayEquals(new byte[0], states.get(0).contents("a"));
    assertArrayEquals(storageBytes(20), states.get(1).contents("a"));
    assertTrue(outcomes(states, "a").size() > 30);
  }

  private static byte[] storageBytes(int count) {
    byte[] bytes = new byte[count];
    for (int i = 0; i < count; i++) {
      bytes[i] = (byte) (i + 1);
    }
    return bytes;
  }

  @Test
  void killedProcessLeavesUnsyncedDataToALaterPowerLoss() throws IOException {
    write("a", (byte) 1);

    CrashableStorage restarted = disk.crashKeepingAll();

    assertArrayEquals(new byte[] {1}, restarted.contents("a"));
    try (StorageFile file = restarted.open("a", true)) {
      file.write(direct((byte) 2), 1);
    }
    assertFalse(restarted.crashSyncedOnly().exists("a"));
    restarted.freeze();
    assertArrayEquals(new byte[] {1}, disk.contents("a"));
  }

  @Test
  void crashedStorageRefusesAllButClose() throws IOException {
    StorageLock lock = storage.lock("LOCK", false);
    StorageFile file = storage.create("a");

    CrashableStorage after = disk.crash(new Random(1));

    for (IoAction action :
        List.<IoAction>of(
            () -> storage.create("b"),
            () -> storage.open("a", false),
            () -> storage.exists("a"),
            () -> storage.rename("a", "b"),
            () -> storage.delete("a"),
            () -> storage.list(),
            () -> storage.syncDirectory(),
            () -> storage.lock("LOCK", true),
            () -> file.write(direct((byte) 1), 0),
            () -> file.read(direct((byte) 1), 0),
            () -> file.map(0),
            () -> file.sync(),
            () -> file.truncate(0),
            () -> file.length())) {
      assertEquals("crashed", assertThrows(IOException.class, action::run).getMessage());
    }
    assertThrows(IllegalStateException.class, () -> disk.replace("a", new byte[0]));
    file.close();
    lock.close();
    after.lock("LOCK", false).close();
  }

  @Test
  void powerCanFailAtEveryOperation() throws IOException {
    for (int n = 1; n <= 4; n++) {
      CrashableStorage victim = new CrashableStorage();
      victim.freezeAt(n);
      IOException crash =
          assertThrows(
              IOException.class,
              () -> {
                try (StorageFile file = victim.create("a")) {
                  file.write(direct((byte) 1), 0);
                  file.sync();
                  victim.syncDirectory();
                }
              });
      assertEquals("crashed", crash.getMessage());
      assertEquals(n - 1, victim.operationCount());
      assertFalse(victim.crashSyncedOnly().exists("a"));
    }
  }

  @Test
  void plannedFaultBefallsExactlyTheNthOperation() throws IOException {
    disk.failAt(2, Fault.EIO, false, kind -> kind == Operation.WRITE);
    try (StorageFile file = storage.create("a")) {
      file.write(direct((byte) 1), 0);
      assertThrows(IOException.class, () -> file.write(direct((byte) 2), 1));
      file.write(direct((byte) 3), 1);

      assertArrayEquals(new byte[] {1, 3}, contents(file));
    }
    disk.failNext(Fault.EIO);
    assertThrows(IOException.class, () -> storage.list());
    assertEquals(List.of("a"), storage.list());
  }

  @Test
  void stickyFaultStaysUntilCleared() throws IOException {
    disk.failAt(1, Fault.EIO, true, (operation, name) -> name.equals("a"));
    assertThrows(IOException.class, () -> storage.create("a"));
    assertThrows(IOException.class, () -> storage.create("a"));
    storage.create("b").close();

    disk.clearFaults();

    storage.create("a").close();
  }

  @Test
  void shortWriteLeavesTheFirstHalf() throws IOException {
    try (StorageFile file = storage.create("a")) {
      disk.failNext(Fault.SHORT_WRITE);
      assertThrows(IOException.class, () -> file.write(direct(filled(10, 1)), 0));

      assertArrayEquals(filled(5, 1), contents(file));
    }
  }

  @Test
  void syncThatFailsForgetsButStillShowsTheData() throws IOException {
    writeDurable("a", (byte) 1);
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct((byte) 2), 0);
      disk.failNext(Fault.SYNC_FAILS);
      assertThrows(IOException.class, file::sync);

      file.sync();

      assertArrayEquals(new byte[] {2}, contents(file));
    }
    assertEquals(Set.of("[1]"), outcomes(disk.crashStates(100), "a"));
    assertArrayEquals(new byte[] {2}, disk.crashKeepingAll().contents("a"));
  }

  @Test
  void directorySyncThatFailsForgetsTheNames() throws IOException {
    write("a");
    disk.failNext(Fault.SYNC_FAILS);
    assertThrows(IOException.class, storage::syncDirectory);

    storage.syncDirectory();

    assertTrue(storage.exists("a"));
    assertEquals(Set.of("-"), outcomes(disk.crashStates(100), "a"));
  }

  @Test
  void ioErrorOfASyncLeavesTheOutcomeOpen() throws IOException {
    writeDurable("a", (byte) 1);
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct((byte) 2), 0);
      disk.failNext(Fault.EIO);
      assertThrows(IOException.class, file::sync);
    }

    assertTrue(outcomes(disk.crashStates(100), "a").containsAll(Set.of("[1]", "[2]")));
  }

  @Test
  void everyKindOfOperationCanFail() throws IOException {
    writeDurable("a", (byte) 1);
    try (StorageFile file = storage.open("a", true)) {
      for (Fault fault : Fault.values()) {
        for (IoAction action :
            List.<IoAction>of(
                () -> storage.create("b"),
                () -> storage.open("a", false),
                () -> storage.rename("a", "b"),
                () -> storage.delete("a"),
                () -> storage.list(),
                () -> storage.syncDirectory(),
                () -> storage.lock("LOCK", true),
                () -> file.write(direct((byte) 1), 0),
                () -> readWholly(file),
                () -> file.map(0),
                () -> file.sync(),
                () -> file.truncate(0))) {
          disk.failNext(fault);
          assertThrows(IOException.class, action::run);
        }
      }
      assertArrayEquals(new byte[] {1}, contents(file));
    }
    assertEquals(List.of("a"), storage.list());
  }

  private static void readWholly(StorageFile file) throws IOException {
    if (file.read(direct((byte) 1), 0) < 1) {
      throw new EOFException();
    }
  }

  @Test
  void crashSpaceHasEveryStateOnceAndSaysWhenThereAreTooMany() throws IOException {
    writeDurable("a", (byte) 1);
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct(filled(600, 2)), 0);
    }
    storage.create("b").close();
    Set<String> states = new HashSet<>();
    CrashSpace all = disk.crashSpace(100, 5, 1);
    assertTrue(all.isExhaustive());
    for (SortedMap<String, byte[]> state : all) {
      StringBuilder text = new StringBuilder();
      state.forEach((name, bytes) -> text.append(name).append(Arrays.toString(bytes)));
      assertTrue(states.add(text.toString()), "a state twice");
    }
    // Two sectors: none, both, the first alone; each set of sectors but both with the new length;
    // noise from the first or the second on. With and without the new name.
    assertEquals(2 * (1 + 1 + 1 + 3 + 2), all.size());
    assertTrue(states.contains("a[1]"));
    assertTrue(states.contains("a[1]b[]"));
    assertTrue(states.contains("a" + Arrays.toString(filled(600, 2)) + "b[]"));

    CrashSpace some = disk.crashSpace(all.size() - 1, 5, 1);
    assertFalse(some.isExhaustive());
    assertEquals(5, some.size());
  }

  @Test
  void watcherSeesTheMomentBeforeEachChange() throws IOException {
    List<List<String>> seen = new ArrayList<>();
    disk.watch(moment -> seen.add(names(moment)));
    storage.create("a").close();
    storage.list();
    storage.rename("a", "b");
    storage.delete("b");
    assertEquals(List.of(List.of(), List.of("a"), List.of("b")), seen);
  }

  private static List<String> names(CrashableStorage moment) {
    try {
      return moment.list();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void fullDiskTakesWhatFitsUntilSpaceIsFreed() throws IOException {
    write("a", filled(60, 1));
    disk.capacityBytes(100);
    try (StorageFile file = storage.create("b")) {
      IOException full =
          assertThrows(IOException.class, () -> file.write(direct(filled(50, 2)), 0));
      assertEquals("No space left on device: b", full.getMessage());
      assertEquals(40, file.length());
      assertThrows(IOException.class, () -> file.write(direct((byte) 3), 40));
      file.write(direct(filled(40, 4)), 0);

      try (StorageFile deleted = storage.open("a", false)) {
        storage.delete("a");
        assertEquals(60, deleted.length());
        assertThrows(IOException.class, () -> file.write(direct((byte) 3), 40));
      }

      file.write(direct(filled(60, 5)), 40);
      assertEquals(100, disk.usedBytes());
    }
  }

  @Test
  void traceTellsTheProtocol() throws IOException {
    try (StorageLock lock = storage.lock("LOCK", false);
        StorageFile file = storage.create("CURRENT.tmp")) {
      file.write(direct(filled(16, 1)), 0);
      disk.failNext(Fault.EIO);
      assertThrows(IOException.class, file::sync);
      file.sync();
      file.truncate(8);
      file.map(4);
      file.read(direct(filled(4, 0)), 2);
      storage.rename("CURRENT.tmp", "CURRENT");
      storage.syncDirectory();
      storage.open("CURRENT", true).close();
      storage.list();
      storage.delete("CURRENT");
      lock.close();
    }

    assertEquals(
        List.of(
            "lock LOCK exclusive",
            "create CURRENT.tmp",
            "write CURRENT.tmp 0+16",
            "sync CURRENT.tmp !EIO",
            "sync CURRENT.tmp",
            "truncate CURRENT.tmp 8",
            "map CURRENT.tmp 4",
            "read CURRENT.tmp 2+4",
            "rename CURRENT.tmp CURRENT",
            "sync-directory",
            "open CURRENT writable",
            "list",
            "delete CURRENT"),
        disk.trace());
    assertEquals(13, disk.operationCount());
    disk.clearTrace();
    assertEquals(List.of(), disk.trace());
  }

  @Test
  void damageIsSeenAndDurable() throws IOException {
    writeDurable("a", (byte) 1, (byte) 0xf0);
    long before = disk.operationCount();

    disk.corrupt("a", 1, value -> value ^ 0xff);
    disk.replace("b", new byte[] {3});

    assertThrows(IllegalArgumentException.class, () -> disk.corrupt("a", 2, value -> 0));
    assertEquals(before, disk.operationCount());
    assertArrayEquals(new byte[] {1, 0x0f}, read("a"));
    CrashableStorage after = disk.crashSyncedOnly();
    assertArrayEquals(new byte[] {1, 0x0f}, after.contents("a"));
    assertArrayEquals(new byte[] {3}, after.contents("b"));
  }

  @Test
  void openFilesAreTold() throws IOException {
    StorageFile file = storage.create("a");
    assertEquals(List.of("a"), disk.openFiles());

    file.close();

    assertEquals(List.of(), disk.openFiles());
  }

  private interface IoAction {
    void run() throws IOException;
  }
}
