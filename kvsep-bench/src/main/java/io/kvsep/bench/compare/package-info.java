/**
 * Comparing kvsep with other engines, each in a process of its own. {@link
 * io.kvsep.bench.compare.CompareCommand} is the parent: it starts a child for every engine, data
 * set and round, reads what it prints, and makes a table and a file of it. {@link
 * io.kvsep.bench.compare.CompareChild} is the child for engines of the JVM. What the two say to
 * each other is in docs/internals/bench-protocol.md. The peers are seen by their {@link
 * io.kvsep.bench.compare.Engine} alone.
 */
@NullMarked
package io.kvsep.bench.compare;

import org.jspecify.annotations.NullMarked;
