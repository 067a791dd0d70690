/**
 * Index entries, their payloads, iteration and merging. Owns no files, and no memory except scratch
 * memory of iterators.
 */
@NullMarked
package io.kvsep.internal.iterator;

import org.jspecify.annotations.NullMarked;
