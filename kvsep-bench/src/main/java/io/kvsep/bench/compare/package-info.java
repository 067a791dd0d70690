/**
 * Comparing kvsep with other engines, each in a process of its own, and drawing what was found.
 * What a process is told and says is in docs/compare.md.
 */
@NullMarked
package io.kvsep.bench.compare;

import org.jspecify.annotations.NullMarked;
