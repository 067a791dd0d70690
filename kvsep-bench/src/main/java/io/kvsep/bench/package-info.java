/**
 * Measuring kvsep: JMH benchmarks and the load driver. Owns the content the measurements run on,
 * which derives from its ordinal, so that everything read can be checked. Uses the public API
 * alone. The driver's commands run on the main thread and start the threads they name.
 */
@NullMarked
package io.kvsep.bench;

import org.jspecify.annotations.NullMarked;
