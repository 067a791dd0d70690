/** What all files of a store begin with, of whatever kind they are. Immutable and thread safe. */
@NullMarked
package io.kvsep.internal.format;

import org.jspecify.annotations.NullMarked;
