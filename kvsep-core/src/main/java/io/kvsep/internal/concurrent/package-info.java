/** Schedulers, time sources, waits and cleanup, independent of the store. */
@NullMarked
package io.kvsep.internal.concurrent;

import org.jspecify.annotations.NullMarked;
