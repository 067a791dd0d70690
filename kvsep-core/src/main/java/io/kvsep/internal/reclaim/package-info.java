/**
 * Gives the space of dead values back: which files of the value log are worth rewriting, and the
 * job that moves their survivors, in key order, to a new file. Tables are never touched.
 */
@NullMarked
package io.kvsep.internal.reclaim;

import org.jspecify.annotations.NullMarked;
