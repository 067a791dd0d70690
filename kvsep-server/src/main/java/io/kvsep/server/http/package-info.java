/**
 * Serves a store over HTTP/1.1 and HTTP/2: entries, ranges, batches, transactions, keyspaces,
 * maintenance, statistics, and a dashboard. {@link io.kvsep.server.http.HttpFront} is the entry
 * point; docs/http.md describes the protocol.
 *
 * <p>Event loops only parse and write. Work that may wait for the store or its device runs on a
 * bounded number of other threads, except for {@link io.kvsep.server.http.LoopReads}.
 */
@NullMarked
package io.kvsep.server.http;

import org.jspecify.annotations.NullMarked;
