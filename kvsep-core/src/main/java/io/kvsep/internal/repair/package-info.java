/**
 * Builds a new store from what can be verified of a damaged one. Only reads the damaged files;
 * writes through an engine of the new store.
 */
@NullMarked
package io.kvsep.internal.repair;

import org.jspecify.annotations.NullMarked;
