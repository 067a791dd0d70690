/**
 * Errors that callers can handle. Every error that kvsep throws is a {@link
 * io.kvsep.error.KvException}; each subtype is one row of the error table in docs/guide/errors.md
 * and documents the state of the store after it. {@link io.kvsep.error.ReadOnlyStoreException} is a
 * mistake of the calling code.
 */
@NullMarked
package io.kvsep.error;

import org.jspecify.annotations.NullMarked;
