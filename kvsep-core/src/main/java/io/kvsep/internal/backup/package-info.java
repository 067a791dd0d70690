/** Checkpoints, backups and restores. */
@NullMarked
package io.kvsep.internal.backup;

import org.jspecify.annotations.NullMarked;
