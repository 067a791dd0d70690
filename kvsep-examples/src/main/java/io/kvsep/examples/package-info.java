/** Small programs that use the public API, each showing one idea. */
@NullMarked
package io.kvsep.examples;

import org.jspecify.annotations.NullMarked;
