/**
 * The storage seam: one flat directory of files behind {@link io.kvsep.internal.io.Storage}, its
 * implementation, the names of a store's files, and the header that each begins with. Owns open
 * channels and the lock of the directory, and remembers the first failure after which nothing may
 * be written. Does not own mapped memory, which belongs to the code that asked for the mapping.
 * Everything public is thread safe and indifferent to interrupts.
 */
@NullMarked
package io.kvsep.internal.io;

import org.jspecify.annotations.NullMarked;
