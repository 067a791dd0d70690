/**
 * Entries of the index and iteration over them: the contract of {@link
 * io.kvsep.internal.iterator.InternalIterator}, merging, and the layout of payloads. Owns no files,
 * and no memory except scratch memory of iterators. Iterators are for one thread at a time.
 */
@NullMarked
package io.kvsep.internal.iterator;

import org.jspecify.annotations.NullMarked;
