package io.kvsep.server.redis;

import io.netty.buffer.ByteBuf;

/**
 * What a lane hands to the event loop for one connection.
 *
 * @param replies to be sent, and released
 * @param answered commands that are done with, of so many bytes
 * @param hasMore whether commands wait in the lane until this is sent
 * @param closing whether the connection ends with it
 */
record Delivery(
    Session session,
    ByteBuf replies,
    int answered,
    long answeredBytes,
    boolean hasMore,
    boolean closing) {}
