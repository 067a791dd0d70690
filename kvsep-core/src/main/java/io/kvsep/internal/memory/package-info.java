/**
 * All raw memory: bounds-checked {@link io.kvsep.internal.memory.Region}s over off-heap and mapped
 * bytes, the ledger that counts them by purpose, and the epochs that decide when memory shared with
 * readers can be freed. No code outside this package uses addresses, except those of the program's
 * Chronicle Bytes.
 *
 * <p>Built on Chronicle Core's {@code UnsafeMemory}, on newer JDKs on {@code java.lang.foreign}
 * instead, see docs/decisions/15.
 */
@NullMarked
package io.kvsep.internal.memory;

import org.jspecify.annotations.NullMarked;
