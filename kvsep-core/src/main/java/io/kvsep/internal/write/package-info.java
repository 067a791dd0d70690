/**
 * The write path of one open store: the commit queue and its leader, the end of the log, the
 * memtable insert, stalls, keyspaces and counters. Callers encode on their own threads; the first
 * in the queue commits all waiting writes. All operations that exclude writers are here, too.
 * Commit leadership is the outermost lock of a store. Any thread may sync the log.
 */
@NullMarked
package io.kvsep.internal.write;

import org.jspecify.annotations.NullMarked;
