/**
 * What readers see: the memtables, the version and the newest visible sequence number of one open
 * store, and its snapshots. A reader enters an epoch, reads the current view and takes no lock.
 * Flushes, compactions, rotations of the log and loads install new views.
 */
@NullMarked
package io.kvsep.internal.view;

import org.jspecify.annotations.NullMarked;
