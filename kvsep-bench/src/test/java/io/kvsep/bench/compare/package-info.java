/** Tests of what the measurements rely on. */
@NullMarked
package io.kvsep.bench.compare;

import org.jspecify.annotations.NullMarked;
