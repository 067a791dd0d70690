/**
 * What readers see: memtables, version, visible sequence number and snapshots. A reader enters an
 * epoch and uses the current read state, without a lock. A change of the memtables or of the
 * version installs a new read state.
 */
@NullMarked
package io.kvsep.internal.view;

import org.jspecify.annotations.NullMarked;
