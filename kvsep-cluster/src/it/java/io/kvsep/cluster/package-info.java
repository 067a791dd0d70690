/** Ratis' own tests, with the machine of this module. */
@NullMarked
package io.kvsep.cluster;

import org.jspecify.annotations.NullMarked;
