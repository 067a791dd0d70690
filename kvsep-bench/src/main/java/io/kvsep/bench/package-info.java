/**
 * Measuring kvsep: JMH benchmarks and the load driver. Owns the content of the measurements, which
 * is derived from its ordinal, so that everything read can be checked. Uses only the public API,
 * except for the kill loop, which puts its own storage under a store, and the command {@code
 * tables}, which makes an engine write tables of a few entries. Commands run on the main thread and
 * start the threads they name.
 */
@NullMarked
package io.kvsep.bench;

import org.jspecify.annotations.NullMarked;
