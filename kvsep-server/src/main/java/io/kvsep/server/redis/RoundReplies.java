package io.kvsep.server.redis;

import io.netty.buffer.ByteBuf;

/**
 * What the event loop gets for one connection when a round is over.
 *
 * @param replies to be sent, and released
 * @param answered commands that are done with, of so many bytes
 * @param turns that the loop had passed to the lane and that are over
 * @param idle whether nothing of the connection waits or runs in the lane
 * @param hasMore whether commands wait until this is sent
 * @param closing whether the connection ends with it
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
