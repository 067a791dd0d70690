/**
 * Typed, sorted, concurrent maps and sets in a kvsep store: {@link io.kvsep.collections.KvMap},
 * {@link io.kvsep.collections.KvSet}, and the {@link io.kvsep.collections.Codecs} of their keys and
 * values.
 */
@NullMarked
package io.kvsep.collections;

import org.jspecify.annotations.NullMarked;
