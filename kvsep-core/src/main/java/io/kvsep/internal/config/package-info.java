/** Settings of one open store, as plain numbers. Immutable. */
@NullMarked
package io.kvsep.internal.config;

import org.jspecify.annotations.NullMarked;
