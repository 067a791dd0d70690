/**
 * The change feed: reads the log of an open store in commit order. Value reordering leaves segments
 * alone that an open feed has not read; reclaim of garbage does not wait for a feed.
 */
@NullMarked
package io.kvsep.internal.feed;

import org.jspecify.annotations.NullMarked;
