/**
 * The Redis protocol in front of a store: {@link io.kvsep.server.redis.RedisServer}.
 *
 * <p>An event loop cuts commands out of what arrives, carries out those that are over soon, and
 * writes replies. Each loop has a {@link io.kvsep.server.redis.CommandExecutor} with one thread
 * beside it for all other commands of its connections, so that what waits for a device does not
 * hold the loop up. What either finds waiting is carried out together: writes of all connections
 * become one commit.
 *
 * <p>Uses only the public API of the core. Everything that clients send is untrusted; limits hold
 * before memory is taken.
 */
@NullMarked
package io.kvsep.server.redis;

import org.jspecify.annotations.NullMarked;
