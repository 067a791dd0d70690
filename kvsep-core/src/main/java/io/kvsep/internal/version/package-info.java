/**
 * Which files make up the store. Owns the manifest and {@code CURRENT}, the immutable {@link
 * io.kvsep.internal.version.Version}s that readers pin, and the knowledge when a table or segment
 * is held by none of them. Does not own the bytes of tables and segments, never opens a table
 * before somebody reads it, and leaves the deletion of files to the engine, except for files of an
 * edit that failed. Reading a version takes no lock; edits are applied one at a time. Format:
 * docs/formats/manifest.md.
 */
@NullMarked
package io.kvsep.internal.version;

import org.jspecify.annotations.NullMarked;
