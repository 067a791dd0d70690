/**
 * Copies of an open store: checkpoints, backups and what restores them. Format of backups:
 * docs/formats/backup.md.
 */
@NullMarked
package io.kvsep.internal.copy;

import org.jspecify.annotations.NullMarked;
