package io.kvsep.internal.version;

/**
 * The tables of live versions.
 *
 * @param all each counted once
 * @param pinned those that the newest version does not hold
 */
public record LiveTables(TableTotal all, TableTotal pinned) {}
