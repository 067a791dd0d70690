/**
 * Reclaims the space of dead values: decides when it is due and which value-log files are worth
 * rewriting, and copies their live values in key order to a new file. Never changes tables. Also
 * orders values by key in stores larger than memory.
 */
@NullMarked
package io.kvsep.internal.reclaim;

import org.jspecify.annotations.NullMarked;
