/**
 * Builds a new store of what can be proved of a damaged one. Reads the damaged files alone, and
 * writes through an engine of the new store.
 */
@NullMarked
package io.kvsep.internal.repair;

import org.jspecify.annotations.NullMarked;
