package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.Collections;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A damaged table of level 0 leaves keys outside its range readable, wherever the damage is. */
final class DamagedTableTest {
  private CrashableStorage storage = new CrashableStorage();

  @Test
  void keysOutsideItAreReadWhetherItIsOpenOrNot() throws IOException {
    String damaged = fill();
    int length = storage.contents(damaged).length;
    int refused = 0;
    for (int at = 0; at < length; at++) {
      storage.corrupt(damaged, at, found -> found ^ 0x10);
      StorageEngine engine = open();
      requireOutside(engine);
      for (char letter = 'n'; letter <= 'z'; letter++) {
        try {
          get(engine, letter);
        } catch (CorruptionException e) {
          assertTrue(e.file().equals(damaged), e::toString);
          refused++;
        }
      }
      requireOutside(engine);
      engine.close();
      storage = storage.crashKeepingAll();
      storage.corrupt(damaged, at, found -> found ^ 0x10);
    }
    assertTrue(refused > length, refused + " gets of " + length + " damages");
  }

  /** Returns the newer of two tables of level 0: n to z, after a to f. */
  private String fill() throws IOException {
    StorageEngine engine = open();
    for (char letter : "abcdefnopqrstuvwxyz".toCharArray()) {
      if (letter == 'n') {
        engine.flush();
      }
      engine.writes().put(0, key(letter), new byte[30], 0);
    }
    engine.flush();
    engine.close();
    storage = storage.crashKeepingAll();
    return Collections.max(
        storage.list().stream()
            .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE)
            .toList());
  }

  private void requireOutside(StorageEngine engine) {
    for (char letter = 'a'; letter <= 'f'; letter++) {
      assertNotNull(get(engine, letter));
    }
    assertNull(get(engine, 'm'));
    assertNull(get(engine, '~'));
  }

  private static byte @Nullable [] get(StorageEngine engine, char letter) {
    return engine.reads().get(0, key(letter), StoreReads.LATEST);
  }

  private StorageEngine open() {
    return Engines.open(storage, new ManualScheduler(1, 2));
  }

  private static byte[] key(char letter) {
    return (letter + "1").getBytes(UTF_8);
  }
}
