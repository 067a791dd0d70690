/**
 * What every part of one open store is given: its configuration, the scheduler and its threads,
 * what has failed for good, and how a page that cannot be read is told. Knows of none of these
 * parts.
 */
@NullMarked
package io.kvsep.internal.runtime;

import org.jspecify.annotations.NullMarked;
