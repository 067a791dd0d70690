/**
 * Threads, clocks, locks and cleanup: the scheduler and its threads, time sources, waits that an
 * interrupt does not cut short, locks that allocate nothing. Knows nothing of the store.
 */
@NullMarked
package io.kvsep.internal.concurrent;

import org.jspecify.annotations.NullMarked;
