/**
 * Reclaims the space of dead values: when it is due, which files of the value log are worth
 * rewriting, and the job that copies their live values, in key order, to a new file. Tables are
 * never touched. Also orders values by key where a store is larger than memory.
 */
@NullMarked
package io.kvsep.internal.reclaim;

import org.jspecify.annotations.NullMarked;
