/**
 * Shared value types and limits: entry tags, log positions, keyspace prefixes. Everything is
 * immutable or static.
 */
@NullMarked
package io.kvsep.internal.base;

import org.jspecify.annotations.NullMarked;
