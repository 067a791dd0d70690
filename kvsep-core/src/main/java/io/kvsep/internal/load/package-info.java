/**
 * Bulk loads: write entries in any order to tables and blob files outside the log, and install them
 * with one edit, all or none. Nothing refers to the files before that.
 */
@NullMarked
package io.kvsep.internal.load;

import org.jspecify.annotations.NullMarked;
