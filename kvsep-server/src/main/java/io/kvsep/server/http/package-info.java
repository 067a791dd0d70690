/**
 * A store over HTTP/1.1 and HTTP/2: entries, ranges, batches, transactions, keyspaces, upkeep,
 * figures, and a page to look at. {@link io.kvsep.server.http.HttpFront} is the way in;
 * docs/http.md is what its clients see.
 *
 * <p>Event loops only parse and write. Whatever may wait for the store or its device runs on a
 * bounded number of other threads; the one exception is {@link io.kvsep.server.http.LoopReads}.
 */
@NullMarked
package io.kvsep.server.http;

import org.jspecify.annotations.NullMarked;
