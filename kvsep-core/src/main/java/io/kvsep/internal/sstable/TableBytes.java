package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.Region;

/**
 * A table's file as it lies in memory.
 *
 * @param name for errors
 * @param mapping all of it
 * @param checksumSeed what its checksums are mixed with
 */
record TableBytes(String name, Region mapping, long checksumSeed) {}
