/**
 * Measuring kvsep: JMH benchmarks and the load driver. Owns the content the measurements run on,
 * which derives from its ordinal, so that everything read can be checked. Uses the public API
 * alone, but for the kill loop, which puts a storage of its own under a store, and the command
 * {@code tables}, which has an engine make tables of a few entries. The driver's commands run on
 * the main thread and start the threads they name.
 */
@NullMarked
package io.kvsep.bench;

import org.jspecify.annotations.NullMarked;
