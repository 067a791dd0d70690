/**
 * Reads every byte of a store and compares all redundant data: log, blob files, tables, live bytes.
 * Collects problems without throwing them.
 */
@NullMarked
package io.kvsep.internal.verify;

import org.jspecify.annotations.NullMarked;
