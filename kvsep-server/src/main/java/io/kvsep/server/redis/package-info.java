/**
 * The Redis protocol in front of a store: {@link io.kvsep.server.redis.RedisServer}.
 *
 * <p>An event loop only moves bytes: it cuts commands out of what arrives and writes replies. Each
 * loop has a {@link io.kvsep.server.redis.Lane} beside it, one thread that runs the commands of all
 * its connections, so that nothing that waits for a device ever holds a loop up. What the lane
 * finds waiting is carried out together: writes of all connections become one commit.
 *
 * <p>Uses only the public API of the core. Everything that clients send is untrusted; limits hold
 * before memory is taken.
 */
@NullMarked
package io.kvsep.server.redis;

import org.jspecify.annotations.NullMarked;
