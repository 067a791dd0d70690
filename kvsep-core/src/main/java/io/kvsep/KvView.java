package io.kvsep;

import java.time.Duration;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes one keyspace: of a store ({@link KeyspaceView}), in a {@link Transaction} or in
 * a {@link WriteBuffer}. Costs nothing to create and needs no closing. Once the keyspace is
 * dropped, every call throws {@link IllegalStateException}.
 */
public interface KvView extends KvReader, KvWriter {
  /**
   * Replaces the value of {@code key} by what {@code function} makes of it, atomically: no other
   * write comes between the value that the function was given and the one that it returned. Like
   * any put, it removes the time to live of the key.
   *
   * <p>In a store, the function runs without a lock and again if the entry was written meanwhile,
   * until it was not; threads that compute the same key at the same time thus repeat each other's
   * work. It must be free of side effects and must not wait for another write of the key. In a
   * transaction or write buffer the call is a get and a put or delete. The function may use the
   * store, the transaction or the buffer. If it throws, nothing is written and the exception
   * propagates.
   *
   * @param key the key
   * @param function receives a copy of the value, or null if the key is absent; returns the new
   *     value, or null to delete the key
   * @return what the function returned at last
   */
  byte @Nullable [] compute(byte[] key, UnaryOperator<byte @Nullable []> function);

  /**
   * Gives an existing entry a new time to live, counted from now, whether it had one or not;
   * returns false if the key is absent. The value stays. Atomic with respect to all other writes.
   * Costs a read and a put of the value: it is written again.
   *
   * @param key the key
   * @param timeToLive how long the entry exists from now; in a transaction or write buffer, from
   *     its commit
   * @return whether there was an entry
   * @throws IllegalArgumentException if {@code timeToLive} is zero or negative
   */
  boolean expire(byte[] key, Duration timeToLive);
}
