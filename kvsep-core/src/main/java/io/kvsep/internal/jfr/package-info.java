/**
 * Java Flight Recorder events: names and fields. Independent of the store, whose code fills them
 * in. Thread safe; an event belongs to the thread that began it.
 */
@NullMarked
package io.kvsep.internal.jfr;

import org.jspecify.annotations.NullMarked;
