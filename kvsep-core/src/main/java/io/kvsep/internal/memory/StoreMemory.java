package io.kvsep.internal.memory;

/**
 * What one store may take of the memory that it shares with others.
 *
 * @param ledger allocates and counts what the store holds
 * @param memtables for memtables and bulk loads
 * @param commits for frames being encoded, of all stores together
 * @param reads for values being read, of all stores together
 */
public record StoreMemory(
    MemoryLedger ledger,
    MemtableBudget.Share memtables,
    ScratchBudget commits,
    ScratchBudget reads) {}
