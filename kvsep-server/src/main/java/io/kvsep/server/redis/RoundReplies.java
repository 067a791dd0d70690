package io.kvsep.server.redis;

import io.netty.buffer.ByteBuf;

/**
 * Result of a round for one connection, handed to the event loop.
 *
 * @param replies to be sent and released
 * @param answered number of finished commands, of {@code answeredBytes} bytes
 * @param turns that the loop had passed to the executor's thread and that are finished
 * @param idle whether nothing of the connection waits or runs in the executor
 * @param hasMore whether commands wait until this is sent
 * @param closing whether the connection is to be closed afterwards
 */
record RoundReplies(
    Session session,
    ByteBuf replies,
    int answered,
    long answeredBytes,
    int turns,
    boolean idle,
    boolean hasMore,
    boolean closing) {}
