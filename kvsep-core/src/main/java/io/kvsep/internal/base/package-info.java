/** Shared immutable values and limits: entry tags, log positions, keyspace prefixes. */
@NullMarked
package io.kvsep.internal.base;

import org.jspecify.annotations.NullMarked;
