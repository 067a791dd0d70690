/** Tools that check a cluster: histories and their checker, faulty links, nodes as processes. */
@NullMarked
package io.kvsep.cluster.check;

import org.jspecify.annotations.NullMarked;
