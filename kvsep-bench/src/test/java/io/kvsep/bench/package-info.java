/** Tests of what the measurements rely on. */
@NullMarked
package io.kvsep.bench;

import org.jspecify.annotations.NullMarked;
