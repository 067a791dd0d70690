/**
 * Runs flushes and compactions when they are due, and deletes files that no version and no reader
 * needs. Runs on the {@link io.kvsep.internal.concurrent.Scheduler}. Locks: a job's own, then that
 * of {@link io.kvsep.internal.view.CurrentReadState}, then the version set's.
 */
@NullMarked
package io.kvsep.internal.background;

import org.jspecify.annotations.NullMarked;
