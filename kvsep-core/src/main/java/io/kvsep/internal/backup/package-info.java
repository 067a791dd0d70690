/** Checkpoints, backups, and restoring a backup. Format of backups: docs/formats/backup.md. */
@NullMarked
package io.kvsep.internal.backup;

import org.jspecify.annotations.NullMarked;
