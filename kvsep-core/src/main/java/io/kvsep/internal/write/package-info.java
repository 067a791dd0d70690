/**
 * The write path of one open store: the commit queue and its leader, the end of the log, the
 * memtable insert, stalls, keyspaces and counters. Callers encode on their own threads and queue
 * up; the first in the queue leads and commits all waiting writes. The package also owns every
 * operation that must exclude writers: memtable rotation, segment rotation, keyspace changes.
 * Commit leadership is the outermost lock of a store. Any thread may sync the log.
 */
@NullMarked
package io.kvsep.internal.write;

import org.jspecify.annotations.NullMarked;
