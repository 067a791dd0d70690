/**
 * kvsep, a key-value storage engine for the JVM: keys in a small off-heap index, values once in an
 * append-only log. Start at {@link io.kvsep.KvStore}.
 *
 * <p>Only this package and {@link io.kvsep.error} are public. Do not rely on anything in {@code
 * io.kvsep.internal}.
 */
@NullMarked
package io.kvsep;

import org.jspecify.annotations.NullMarked;
