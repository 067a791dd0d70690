/**
 * The set of files that make up the store. Owns the manifest, {@code CURRENT} and the immutable
 * {@link io.kvsep.internal.version.Version}s that readers pin, and knows when no version holds a
 * table or segment any more. Opens a table only when it is read, and leaves deletion to the engine,
 * except files of a failed edit. Reading a version takes no lock; edits are applied one at a time.
 * Format: docs/formats/manifest.md.
 */
@NullMarked
package io.kvsep.internal.version;

import org.jspecify.annotations.NullMarked;
