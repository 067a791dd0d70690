/**
 * All raw memory: bounds-checked {@link io.kvsep.internal.memory.Region}s over off-heap and mapped
 * bytes, the ledger that counts them by purpose, and the epochs that say when memory a reader may
 * still look at can be given back. Nothing outside this package touches an address.
 *
 * <p>Built on Chronicle Core's {@code UnsafeMemory}. This is the seam at which a later JVM's {@code
 * java.lang.foreign} can take over without any other package noticing.
 */
@NullMarked
package io.kvsep.internal.memory;

import org.jspecify.annotations.NullMarked;
