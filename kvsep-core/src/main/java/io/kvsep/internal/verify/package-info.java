/**
 * Reads every byte of a store and compares all redundant data. Collects problems instead of
 * throwing them.
 */
@NullMarked
package io.kvsep.internal.verify;

import org.jspecify.annotations.NullMarked;
