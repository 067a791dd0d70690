/**
 * Entries of the index and how to walk them: the contract of {@link
 * io.kvsep.internal.iterator.InternalIterator}, the merge of several, and the layout of an entry's
 * payload. Owns no files and no memory but the scratch of single iterators. Iterators are for one
 * thread at a time.
 */
@NullMarked
package io.kvsep.internal.iterator;

import org.jspecify.annotations.NullMarked;
