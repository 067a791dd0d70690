/**
 * Disk access through {@link io.kvsep.internal.io.Storage}, the names of a store's files and their
 * common header. Owns open channels and the lock of the directory, and records the first failure
 * after which nothing may be written. Callers own mapped memory.
 */
@NullMarked
package io.kvsep.internal.io;

import org.jspecify.annotations.NullMarked;
