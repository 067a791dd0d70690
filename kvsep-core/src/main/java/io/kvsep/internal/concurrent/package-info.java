/**
 * Threads, clocks and cleanup: schedulers, time sources, waits that ignore interrupts. Independent
 * of the store.
 */
@NullMarked
package io.kvsep.internal.concurrent;

import org.jspecify.annotations.NullMarked;
