/**
 * kvsep, a key-value storage engine for the JVM: keys in a small off-heap index, values once in an
 * append-only log. Start at {@link io.kvsep.KvStore}.
 *
 * <p>Only this package and {@link io.kvsep.error} are public. Nothing in {@code io.kvsep.internal}
 * may be relied on.
 */
@NullMarked
package io.kvsep;

import org.jspecify.annotations.NullMarked;
