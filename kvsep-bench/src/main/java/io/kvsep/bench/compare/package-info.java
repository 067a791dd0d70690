/**
 * Compares kvsep with other engines, each in its own process. {@link
 * io.kvsep.bench.compare.CompareCommand} is the parent: it starts a child for every engine, data
 * set and round, reads its output, and writes a table and a file. {@link
 * io.kvsep.bench.compare.CompareChild} is the child for JVM engines. Their protocol is in
 * docs/internals/bench-protocol.md. Engines are used only through {@link
 * io.kvsep.bench.compare.Engine}.
 */
@NullMarked
package io.kvsep.bench.compare;

import org.jspecify.annotations.NullMarked;
