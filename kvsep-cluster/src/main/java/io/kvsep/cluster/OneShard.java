package io.kvsep.cluster;

import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What is of the shard of the first key that it is asked for, and begins then. Not thread safe.
 *
 * @param <T> what it is
 */
final class OneShard<T> {
  private final String name;
  private final IntFunction<T> begin;
  private int shard = -1;
  private @Nullable T begun;

  OneShard(String name, IntFunction<T> begin) {
    this.name = name;
    this.begin = begin;
  }

  T at(int wanted) {
    T present = begun;
    if (present == null) {
      present = begin.apply(wanted);
      shard = wanted;
      begun = present;
    } else if (shard != wanted) {
      throw CrossShardException.ofKeys(name, shard, wanted);
    }
    return present;
  }

  /** Null if nothing was asked for. */
  @Nullable T begun() {
    return begun;
  }

  /** Of a call that needs all shards. */
  CrossShardException refusal() {
    return CrossShardException.ofRange(name);
  }
}
