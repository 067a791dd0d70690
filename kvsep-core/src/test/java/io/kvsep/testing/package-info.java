/**
 * Fixtures that the tests of several packages share. Owns what stands in for the outside world: the
 * disk. Does not own any expectation about the engine. Thread model: each class says its own.
 */
@NullMarked
package io.kvsep.testing;

import org.jspecify.annotations.NullMarked;
