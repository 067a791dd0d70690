/**
 * The read path of one open store: lookups, cursors, read-ahead. Readers take no lock, but enter an
 * epoch and read one {@link io.kvsep.internal.view.ReadState}.
 */
@NullMarked
package io.kvsep.internal.read;

import org.jspecify.annotations.NullMarked;
