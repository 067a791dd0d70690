/**
 * Recent writes in memory: a lock-free skip list in an off-heap arena. Owns the arena and nothing
 * on disk; the log holds the same entries. One thread inserts at a time, any number read.
 */
@NullMarked
package io.kvsep.internal.memtable;

import org.jspecify.annotations.NullMarked;
