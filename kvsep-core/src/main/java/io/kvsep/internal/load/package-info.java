/**
 * Bulk loads: write entries in any order to tables and blob files outside the log, to which nothing
 * refers until one edit installs all or none.
 */
@NullMarked
package io.kvsep.internal.load;

import org.jspecify.annotations.NullMarked;
