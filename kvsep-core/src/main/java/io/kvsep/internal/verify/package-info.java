/**
 * Reads every byte of a store and compares everything that is stored twice: log, relocated files,
 * tables, live bytes. Collects every difference and throws none.
 */
@NullMarked
package io.kvsep.internal.verify;

import org.jspecify.annotations.NullMarked;
