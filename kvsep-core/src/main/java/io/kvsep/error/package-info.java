/**
 * What can go wrong, for callers. Every error kvsep raises by itself is a {@link
 * io.kvsep.error.KvException}; each subtype is one row of the error table in docs/guide/errors.md
 * and says in its own documentation what the store can still do afterwards. {@link
 * io.kvsep.error.ReadOnlyStoreException} is a mistake of the calling code.
 */
@NullMarked
package io.kvsep.error;

import org.jspecify.annotations.NullMarked;
