/**
 * Reclaims the space of garbage: decides when and which value-log files to rewrite, and copies
 * their live values in key order to a new file. Also orders values by key in stores larger than
 * memory. Never changes tables.
 */
@NullMarked
package io.kvsep.internal.reclaim;

import org.jspecify.annotations.NullMarked;
