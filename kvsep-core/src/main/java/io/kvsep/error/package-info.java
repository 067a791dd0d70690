/**
 * Errors that callers can handle: the subtypes of {@link io.kvsep.error.KvException}. Each
 * documents the state of the store after it; docs/guide/errors.md has a table. {@link
 * io.kvsep.error.ReadOnlyStoreException} is a mistake of the calling code.
 */
@NullMarked
package io.kvsep.error;

import org.jspecify.annotations.NullMarked;
