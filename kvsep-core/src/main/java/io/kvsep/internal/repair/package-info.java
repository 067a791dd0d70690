/**
 * Builds a new store from what can be verified of a damaged one, which it only reads. Writes
 * through an engine of the new store.
 */
@NullMarked
package io.kvsep.internal.repair;

import org.jspecify.annotations.NullMarked;
