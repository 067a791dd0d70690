/**
 * The end of the log of one open store: frames are appended, synced and given room, segments are
 * begun and sealed. Only the leader of the commits appends; any thread may sync.
 */
@NullMarked
package io.kvsep.internal.append;

import org.jspecify.annotations.NullMarked;
