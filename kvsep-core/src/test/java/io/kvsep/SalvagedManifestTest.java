package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.SalvagedManifest;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which store the manifests of a damaged one say it is. */
final class SalvagedManifestTest {
  /** A manifest without a header states no store, so CURRENT is the only statement. */
  @Test
  void currentCountsOnce() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    Engines.open(storage, new ManualScheduler(1, 1)).close();
    TreeMap<String, byte[]> files = new TreeMap<>(RepairHistory.files(storage.crashKeepingAll()));
    files.forEach(
        (name, bytes) -> {
          if (name.startsWith("MANIFEST")) {
            bytes[13] ^= 1;
          }
        });
    List<StoreId> stated = new ArrayList<>();
    SalvagedManifest salvaged =
        SalvagedManifest.read(
            RepairHistory.storageOf(files),
            new MemoryLedger(),
            (manifest, storeId, names, idLimit) -> false,
            new SalvagedManifest.Owners() {
              @Override
              public boolean isStranger(StoreId storeId) {
                return false;
              }

              @Override
              public @Nullable StoreId most(List<StoreId> claims) {
                stated.addAll(claims);
                return null;
              }
            });

    assertFalse(salvaged.sound());
    assertEquals(1, stated.size());
  }
}
