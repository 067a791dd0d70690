/** Metrics that all listeners measure in the same way. */
@NullMarked
package io.kvsep.server.meter;

import org.jspecify.annotations.NullMarked;
