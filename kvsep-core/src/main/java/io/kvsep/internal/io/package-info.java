/**
 * The storage seam: one flat directory of files behind {@link io.kvsep.internal.io.Storage}, its
 * real implementation, and the names of a store's files. Owns open channels and the lock of the
 * directory. Does not own mapped memory, which belongs to whoever asked for the mapping, nor any
 * format, nor the decision what a failure means. Everything public is thread safe and indifferent
 * to interrupts.
 */
@NullMarked
package io.kvsep.internal.io;

import org.jspecify.annotations.NullMarked;
