/**
 * The value log: segments, frames and blob files, writing them, reading records through read-only
 * mappings, and scanning segments for recovery. The log is both the write-ahead log and the storage
 * of values.
 *
 * <p>One thread at a time appends ({@link io.kvsep.internal.vlog.LogWriter}); any number of threads
 * read. Other packages decide which segments exist and when to delete them.
 */
@NullMarked
package io.kvsep.internal.vlog;

import org.jspecify.annotations.NullMarked;
