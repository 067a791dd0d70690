/**
 * Runs flushes and compactions, and deletes unneeded files. Lock order: a job's own locks, then the
 * lock of {@link io.kvsep.internal.view.CurrentReadState}, then the version set's.
 */
@NullMarked
package io.kvsep.internal.background;

import org.jspecify.annotations.NullMarked;
