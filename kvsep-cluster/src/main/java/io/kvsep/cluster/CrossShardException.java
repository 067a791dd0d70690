package io.kvsep.cluster;

/**
 * A call to a {@link ShardedStore} that must be atomic has keys of several shards. Nothing was
 * written.
 */
public final class CrossShardException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  CrossShardException(String message) {
    super(message);
  }
}
