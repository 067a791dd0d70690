/**
 * Events for Java Flight Recorder: what they are called and what they carry. Knows nothing of the
 * store: whoever did the work fills them in. Thread safe; an event belongs to the thread that began
 * it.
 */
@NullMarked
package io.kvsep.internal.metrics;

import org.jspecify.annotations.NullMarked;
