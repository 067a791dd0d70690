package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Verification as a user sees it. */
final class VerifyStoreTest {
  @TempDir Path directory;

  private static void fill(KvStore store, int seed) {
    Random random = new Random(seed);
    Keyspace users = store.keyspace("users");
    for (int i = 0; i < 500; i++) {
      byte[] value = new byte[random.nextInt(3_000)];
      if (random.nextBoolean()) {
        random.nextBytes(value);
      }
      store.put(key(random.nextInt(300)), value);
      store.in(users).put(key(random.nextInt(300)), value, Duration.ofMillis(1 + i));
    }
    store.deleteRange(key(20), key(60));
    store.write(new WriteBatch().delete(key(1)).put(key(2), new byte[9]).in(users).delete(key(3)));
  }

  @Test
  void aStoreInUseIsSound() {
    try (KvStore store =
        KvStore.open(
            directory,
            KvOptions.builder()
                .segmentBytes(1 << 20)
                .keyBlockCompression(ValueCompression.LZ4)
                .build())) {
      for (int i = 0; i < 4; i++) {
        fill(store, i);
        requireSound(store);
        store.flush();
        requireSound(store);
      }
      store.reclaim();
      requireSound(store);
      store.dropKeyspace(store.keyspace("users"));
      store.compact();
      VerifyReport report = requireSound(store);
      assertTrue(report.files() >= 4 && report.bytes() > 10_000, report::toString);
      assertTrue(report.entries() > 100 && report.records() > 200, report::toString);
    }
    try (KvStore store = KvStore.open(directory, KvOptions.builder().readOnly(true).build())) {
      requireSound(store);
    }
  }

  private static VerifyReport requireSound(KvStore store) {
    VerifyReport report = store.verify();
    assertEquals(List.of(), report.problems());
    assertTrue(report.isSound());
    return report;
  }

  @Test
  void aSnapshotKeepsWhatVerificationReads() {
    try (KvStore store = KvStore.open(directory)) {
      fill(store, 1);
      try (Snapshot snapshot = store.snapshot();
          KvCursor cursor = store.cursor()) {
        assertTrue(cursor.next());
        fill(store, 2);
        store.reclaim();
        VerifyReport report = requireSound(store);
        assertEquals(List.of(), report.unknownFiles());
        assertTrue(snapshot.contains(key(2)));
      }
    }
  }

  @Test
  void damageIsToldAndNothingIsChanged() throws IOException {
    try (KvStore store = KvStore.open(directory)) {
      fill(store, 1);
    }
    Path segment;
    try (Stream<Path> files = Files.list(directory)) {
      segment = files.filter(file -> file.toString().endsWith(".vlog")).findFirst().orElseThrow();
    }
    byte[] bytes = Files.readAllBytes(segment);
    bytes[bytes.length / 2] ^= 1;
    Files.write(segment, bytes);
    Files.write(directory.resolve("999999.sst"), new byte[3]);
    var before = IncompatibleFilesTest.listing(directory);
    try (KvStore store = KvStore.open(directory, KvOptions.builder().readOnly(true).build())) {
      VerifyReport report = store.verify();
      assertFalse(report.isSound());
      VerifyReport.Problem first = report.problems().get(0);
      assertEquals(segment.getFileName().toString(), first.file());
      assertTrue(first.offset() <= bytes.length / 2);
      assertTrue(first.toString().startsWith(first.file() + " at offset " + first.offset()));
      assertEquals(List.of("999999.sst"), report.unknownFiles());
    }
    assertEquals(before, IncompatibleFilesTest.listing(directory));
  }

  @Test
  void anEmptyStoreIsSoundAndAClosedOneIsRefused() {
    KvStore store = KvStore.open(directory);
    VerifyReport report = requireSound(store);
    assertEquals(0, report.entries());
    store.close();
    assertThrows(StoreClosedException.class, store::verify);
  }

  private static byte[] key(int index) {
    return ("key-" + index).getBytes(UTF_8);
  }
}
