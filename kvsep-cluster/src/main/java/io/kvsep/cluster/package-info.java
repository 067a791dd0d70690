/**
 * Replicated kvsep stores: every write goes through a Raft log that a majority of the nodes has
 * synced. Start at {@link io.kvsep.cluster.ReplicatedStore}.
 */
@NullMarked
package io.kvsep.cluster;

import org.jspecify.annotations.NullMarked;
