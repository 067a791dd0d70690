/**
 * The value log, both write-ahead log and storage of values: writing segments, frames and blob
 * files, reading records through read-only mappings, scanning segments for recovery.
 *
 * <p>One thread at a time appends ({@link io.kvsep.internal.vlog.LogWriter}); any number of threads
 * read. Other packages decide which segments exist and when to delete them.
 */
@NullMarked
package io.kvsep.internal.vlog;

import org.jspecify.annotations.NullMarked;
