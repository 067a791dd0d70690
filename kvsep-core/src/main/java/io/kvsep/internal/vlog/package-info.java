/**
 * The value log: bytes, not policy. Segments and frames, writing them, reading records back through
 * read-only mappings, and scanning them for recovery. The log is the write-ahead log and the home
 * of the values at once.
 *
 * <p>One thread at a time appends ({@link io.kvsep.internal.vlog.LogWriter}); any number read.
 * Which segments exist, and when one may go, is decided elsewhere.
 */
@NullMarked
package io.kvsep.internal.vlog;

import org.jspecify.annotations.NullMarked;
