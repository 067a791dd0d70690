/**
 * Recent writes in memory: a lock-free skip list in an off-heap arena. Owns the arena and nothing
 * on disk; what is here is also in the log. One thread inserts at a time, and any number read.
 */
@NullMarked
package io.kvsep.internal.memtable;

import org.jspecify.annotations.NullMarked;
