/**
 * Optimistic, serializable transactions: their own writes, what they have read, and the check at
 * commit that nothing of it has changed.
 */
@NullMarked
package io.kvsep.internal.txn;

import org.jspecify.annotations.NullMarked;
