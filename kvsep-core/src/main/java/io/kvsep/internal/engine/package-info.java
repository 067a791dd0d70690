/**
 * One open store: how its parts are opened, recovered, wired together and closed.
 *
 * <p>Threads: callers read and commit on their own threads; a leader among the committing ones
 * writes for all that wait. Flush, compaction and the sync timer run on the {@link
 * io.kvsep.internal.concurrent.Scheduler}, and so do reads that help a caller whose values are not
 * in memory. Locks, outermost first: commit leadership, {@code CurrentReadState}'s state lock, the
 * version set's. Readers take none of them.
 */
@NullMarked
package io.kvsep.internal.engine;

import org.jspecify.annotations.NullMarked;
