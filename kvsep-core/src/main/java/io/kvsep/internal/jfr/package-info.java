/** Java Flight Recorder events. Thread safe; an event belongs to the thread that began it. */
@NullMarked
package io.kvsep.internal.jfr;

import org.jspecify.annotations.NullMarked;
