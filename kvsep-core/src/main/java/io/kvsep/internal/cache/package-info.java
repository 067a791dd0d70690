/**
 * What is kept because it may be needed again, and within which bounds: which readers stay open,
 * and how long something lives that several hold. Knows nothing of tables or blocks, opens and
 * frees nothing itself, and has no threads of its own. Everything here is thread safe.
 */
@NullMarked
package io.kvsep.internal.cache;

import org.jspecify.annotations.NullMarked;
