package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreOnStorage;
import io.kvsep.testing.CrashableStorage;
import java.util.Base64;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A disk without room, as clients see it; the store's own tests are in the core. */
final class FullDiskHttpTest {
  private static final KvOptions OPTIONS =
      KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();

  @Test
  void writesAreRefusedUntilThereIsRoomAndReadsGoOn() {
    CrashableStorage disk = new CrashableStorage();
    int count = 0;
    try (Served served = served(disk)) {
      served.put(path(count), value(count++)).is(204);
      disk.capacityBytes(disk.usedBytes() + 300_000);
      while (served.put(path(count), value(count)).status() == 204) {
        count++;
      }
      assertTrue(count > 1 && count < 100, "there was room for " + count);
      served.put(path(count), value(count)).isProblem(507, "disk-full");
      served.put(path(count), value(count), "Kvsep-Durability", "sync").isProblem(507, "disk-full");
      byte[] random = new byte[400_000];
      new Random(1).nextBytes(random);
      String text = Base64.getEncoder().encodeToString(random);
      String put = "{\"op\":\"put\",\"key\":\"b\",\"valueBase64\":\"" + text + "\"}";
      served.post("/v1/batch", put).isProblem(507, "disk-full");
      served.post("/v1/transaction", "{\"operations\":[" + put + "]}").isProblem(507, "disk-full");
      check(served, count);
      served.get("/health").is(200);

      disk.capacityBytes(Long.MAX_VALUE);
      for (int i = 0; i < 10; i++) {
        served.put(path(count), value(count++), "Kvsep-Durability", "sync").is(204);
      }
      check(served, count);
    }
    try (KvStore again = StoreOnStorage.open(disk.crashKeepingAll(), OPTIONS)) {
      for (int i = 0; i < count; i++) {
        assertArrayEquals(value(i), again.get(("k" + i).getBytes(UTF_8)), "entry " + i);
      }
    }
  }

  private static Served served(CrashableStorage disk) {
    return Served.of(StoreOnStorage.open(disk, OPTIONS), HttpOptions.builder().build());
  }

  private static void check(Served served, int count) {
    for (int i = 0; i < count; i++) {
      assertArrayEquals(value(i), served.get(path(i)).is(200).bytes(), "entry " + i);
    }
    served.get(path(count)).isProblem(404, "no-such-key");
    assertEquals(
        count, served.get("/v1/scan?keysOnly=true").is(200).text().lines().count(), "entries");
  }

  private static String path(int i) {
    return "/v1/keys/k" + i;
  }

  private static byte[] value(int i) {
    byte[] value = new byte[20_000];
    new Random(i).nextBytes(value);
    return value;
  }
}
