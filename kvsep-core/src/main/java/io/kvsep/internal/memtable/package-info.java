/**
 * Recent writes in memory: a skip list with lock-free reads in an off-heap arena. The log holds the
 * same entries. One thread inserts at a time, any number read.
 */
@NullMarked
package io.kvsep.internal.memtable;

import org.jspecify.annotations.NullMarked;
