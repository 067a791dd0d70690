/**
 * Events for Java Flight Recorder: their names and fields. Knows nothing of the store: the code
 * that did the work fills them in. Thread safe; an event belongs to the thread that began it.
 */
@NullMarked
package io.kvsep.internal.jfr;

import org.jspecify.annotations.NullMarked;
