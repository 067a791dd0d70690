package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class MemoryLedgerTest {
  private final MemoryLedger ledger = new MemoryLedger();

  @Test
  void countsByPurposeAndKeepsThePeak() {
    Region memtable = ledger.allocate(MemoryPurpose.MEMTABLE, 1000);
    Region read = ledger.allocate(MemoryPurpose.READ, 10);
    Region more = ledger.allocate(MemoryPurpose.READ, 5);
    assertEquals(1015, ledger.totalBytes());
    assertEquals(1015, ledger.peakBytes());
    assertEquals(1000, ledger.bytes(MemoryPurpose.MEMTABLE));
    assertEquals(15, ledger.bytes(MemoryPurpose.READ));
    assertEquals(0, ledger.bytes(MemoryPurpose.COMMIT));
    assertEquals(MemoryPurpose.values().length, ledger.bytesByPurpose().size());

    memtable.free();
    memtable.free();
    assertEquals(15, ledger.totalBytes());
    assertEquals(1015, ledger.peakBytes());
    ledger.allocate(MemoryPurpose.COMMIT, 1001).free();
    assertEquals(1016, ledger.peakBytes());
    read.free();
    more.free();
    assertEquals(0, ledger.totalBytes());
    ledger.bytesByPurpose().forEach((purpose, bytes) -> assertEquals(0, bytes, purpose));
  }

  @Test
  void threadsTogetherEndAtZero() throws Exception {
    Thread[] threads = new Thread[4];
    for (int i = 0; i < threads.length; i++) {
      MemoryPurpose purpose = MemoryPurpose.values()[i];
      int length = i + 1;
      threads[i] =
          new Thread(
              () -> {
                for (int n = 0; n < 5000; n++) {
                  ledger.allocate(purpose, length).free();
                }
              });
      threads[i].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(0, ledger.totalBytes());
    ledger.bytesByPurpose().forEach((purpose, bytes) -> assertEquals(0, bytes, purpose));
  }
}
