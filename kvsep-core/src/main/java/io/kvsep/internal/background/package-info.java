/**
 * Runs flushes and compactions, and deletes files that no version and no reader needs. Lock order:
 * a job's own locks, then the lock of {@link io.kvsep.internal.view.CurrentReadState}, then the
 * version set's.
 */
@NullMarked
package io.kvsep.internal.background;

import org.jspecify.annotations.NullMarked;
