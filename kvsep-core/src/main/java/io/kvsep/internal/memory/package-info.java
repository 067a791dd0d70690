/**
 * All raw memory: bounds-checked {@link io.kvsep.internal.memory.Region}s over off-heap and mapped
 * bytes, the ledger that counts them by purpose, and the epochs that decide when memory shared with
 * readers can be freed. No code outside this package uses addresses.
 *
 * <p>Built on Chronicle Core's {@code UnsafeMemory}. {@code java.lang.foreign} of a later JVM can
 * replace it here without changes to other packages.
 */
@NullMarked
package io.kvsep.internal.memory;

import org.jspecify.annotations.NullMarked;
