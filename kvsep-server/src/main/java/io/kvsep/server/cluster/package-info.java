/**
 * What a server needs of a cluster. The module kvsep-cluster implements it; without that module a
 * server serves one store.
 */
@NullMarked
package io.kvsep.server.cluster;

import org.jspecify.annotations.NullMarked;
