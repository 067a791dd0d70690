/** Checkpoints, backups and restores. Format of backups: docs/formats/backup.md. */
@NullMarked
package io.kvsep.internal.backup;

import org.jspecify.annotations.NullMarked;
