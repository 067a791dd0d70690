/**
 * What one transaction remembers: its own writes, and what it has read. Nothing in here looks at
 * the store.
 */
@NullMarked
package io.kvsep.internal.txn;

import org.jspecify.annotations.NullMarked;
