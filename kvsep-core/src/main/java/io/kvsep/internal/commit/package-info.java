/**
 * The write path of one open store. Callers encode on their own threads and queue up; the first in
 * the queue leads, appends for all that wait, puts the entries into the memtable and publishes
 * them. Also what has to keep writers out: switching memtables, ending segments, keyspaces. The
 * leadership of commits is the outermost lock of a store.
 */
@NullMarked
package io.kvsep.internal.commit;

import org.jspecify.annotations.NullMarked;
