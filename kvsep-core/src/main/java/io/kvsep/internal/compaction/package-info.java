/**
 * Flush and merge: {@link io.kvsep.internal.compaction.CompactionPicker} chooses, {@link
 * io.kvsep.internal.compaction.CompactionJob} and {@link io.kvsep.internal.compaction.FlushJob}
 * execute. Nothing here outlives a job. Callers choose the thread and install the result.
 */
@NullMarked
package io.kvsep.internal.compaction;

import org.jspecify.annotations.NullMarked;
