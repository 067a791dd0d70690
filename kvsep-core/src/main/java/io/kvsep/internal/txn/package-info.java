/**
 * Optimistic, serializable transactions: own writes, recorded reads, and the conflict check at
 * commit.
 */
@NullMarked
package io.kvsep.internal.txn;

import org.jspecify.annotations.NullMarked;
