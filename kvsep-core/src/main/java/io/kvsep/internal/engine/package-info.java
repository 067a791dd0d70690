/**
 * One open store: how its parts are opened, recovered, connected and closed.
 *
 * <p>Callers read and commit on their own threads; the leader of a commit group writes for the
 * group. Flushes, compactions, reclaim, timers and parallel reads of values not in memory run on
 * the {@link io.kvsep.internal.concurrent.Scheduler}. docs/internals/overview.md has the order of
 * the locks.
 */
@NullMarked
package io.kvsep.internal.engine;

import org.jspecify.annotations.NullMarked;
