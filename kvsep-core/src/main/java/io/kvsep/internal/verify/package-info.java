/**
 * Reads every byte of a store and holds everything that is said twice against its double: log,
 * relocated files, tables, live bytes. What does not hold is collected and never thrown.
 */
@NullMarked
package io.kvsep.internal.verify;

import org.jspecify.annotations.NullMarked;
