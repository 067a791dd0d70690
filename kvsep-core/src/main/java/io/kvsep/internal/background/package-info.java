/**
 * What one open store does by itself: flushes, compactions, reclaim, settling, and the deletion of
 * files that nobody needs any more. Runs on the {@link io.kvsep.internal.runtime.Scheduler}; what
 * reports work is told at once and waits for none of it, unless it says so. Locks: a job's own,
 * then that of {@link io.kvsep.internal.read.LiveView}, then the version set's.
 */
@NullMarked
package io.kvsep.internal.background;

import org.jspecify.annotations.NullMarked;
