/**
 * The change feed: reads the log of an open store in the order of commits, and holds reclaim back
 * from segments that an open feed has not read.
 */
@NullMarked
package io.kvsep.internal.feed;

import org.jspecify.annotations.NullMarked;
