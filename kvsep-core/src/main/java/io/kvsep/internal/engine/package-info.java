/**
 * One open store: how its parts are opened, recovered, wired together and closed.
 *
 * <p>Threads: callers read and commit on their own threads; the leader of a commit group writes for
 * the whole group. Flushes, compactions, the sync timer, and reads that help a caller whose values
 * are not in memory, run on the {@link io.kvsep.internal.concurrent.Scheduler}. Locks, outermost
 * first: commit leadership, {@code CurrentReadState}'s state lock, the version set's lock. Readers
 * take none of them.
 */
@NullMarked
package io.kvsep.internal.engine;

import org.jspecify.annotations.NullMarked;
