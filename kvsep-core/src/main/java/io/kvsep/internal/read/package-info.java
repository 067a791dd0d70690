/**
 * The read path of one open store: views, snapshots, lookups, cursors and reading ahead. Owns the
 * {@link io.kvsep.internal.read.View} that is in force; others put new ones in force through {@link
 * io.kvsep.internal.read.LiveView}. Readers take no lock: they enter an epoch and read one view.
 */
@NullMarked
package io.kvsep.internal.read;

import org.jspecify.annotations.NullMarked;
