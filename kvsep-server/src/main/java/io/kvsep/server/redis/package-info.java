/**
 * Serves a store with the Redis protocol: {@link io.kvsep.server.redis.RedisServer}.
 *
 * <p>An event loop decodes commands, executes the short ones and writes replies. Each loop has a
 * {@link io.kvsep.server.redis.CommandExecutor} with one thread for all other commands of its
 * connections, so that waiting for a device does not block the loop. Each of the two executes
 * everything that waits as one round: writes of all connections become one commit.
 *
 * <p>Uses only the public API of the core. All input from clients is untrusted; limits are checked
 * before memory is allocated.
 */
@NullMarked
package io.kvsep.server.redis;

import org.jspecify.annotations.NullMarked;
