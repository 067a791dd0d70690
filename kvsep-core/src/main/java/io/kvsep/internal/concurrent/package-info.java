/**
 * Threads, clocks, locks and cleanup: schedulers, time sources, waits that ignore interrupts, locks
 * that do not allocate. Independent of the store.
 */
@NullMarked
package io.kvsep.internal.concurrent;

import org.jspecify.annotations.NullMarked;
