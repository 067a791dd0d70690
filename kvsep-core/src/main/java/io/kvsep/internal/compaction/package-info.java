/**
 * Flush and merge: what to compact next ({@link io.kvsep.internal.compaction.CompactionPicker}, a
 * pure choice) and doing it ({@link io.kvsep.internal.compaction.CompactionJob}, {@link
 * io.kvsep.internal.compaction.FlushJob}). Owns nothing that outlives a job; which thread runs one
 * and what becomes of its result is decided above.
 */
@NullMarked
package io.kvsep.internal.compaction;

import org.jspecify.annotations.NullMarked;
