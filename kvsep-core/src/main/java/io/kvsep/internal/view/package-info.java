/**
 * What readers see in one open store: memtables, version, visible sequence number and snapshots. A
 * reader enters an epoch and uses the current read state; it takes no lock. Flushes, compactions,
 * rotations of the log and bulk loads install new read states.
 */
@NullMarked
package io.kvsep.internal.view;

import org.jspecify.annotations.NullMarked;
