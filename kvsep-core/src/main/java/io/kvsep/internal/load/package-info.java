/**
 * Bulk loads: entries in any order become tables and files of values beside the log, which one edit
 * puts in force, all or none. Until then nothing refers to these files.
 */
@NullMarked
package io.kvsep.internal.load;

import org.jspecify.annotations.NullMarked;
