package io.kvsep.cluster;

/**
 * A call to a {@link ShardedStore} that must be atomic has keys of several shards. Nothing was
 * written.
 */
public final class CrossShardException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private CrossShardException(String message) {
    super(message);
  }

  static CrossShardException ofKeys(String call, int shard, int other) {
    return new CrossShardException(
        call
            + " has keys of shards "
            + shard
            + " and "
            + other
            + ": it can be of one, as keys with the same {tag} are");
  }

  static CrossShardException ofRange(String call) {
    return new CrossShardException(call + " is of one shard: a range has keys of all");
  }
}
