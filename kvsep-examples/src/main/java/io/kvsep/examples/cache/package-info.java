/** Interfaces of caches, on a map in a store. */
@NullMarked
package io.kvsep.examples.cache;

import org.jspecify.annotations.NullMarked;
