/** Small programs against the public API, each with the one idea its name says. */
@NullMarked
package io.kvsep.examples;

import org.jspecify.annotations.NullMarked;
