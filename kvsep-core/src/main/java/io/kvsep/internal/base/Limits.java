package io.kvsep.internal.base;

/** Every maximum of the engine, with the reason for it. */
public final class Limits {
  /** Longest user key: the length fits two bytes in every format. */
  public static final int KEY_BYTES_MAX = 65_535;

  /** Bytes the keyspace id may put in front of a user key, see {@link Keyspaces}. */
  public static final int KEYSPACE_PREFIX_BYTES_MAX = 5;

  /** Longest key inside the engine: keyspace id and user key. */
  public static final int STORED_KEY_BYTES_MAX = KEY_BYTES_MAX + KEYSPACE_PREFIX_BYTES_MAX;

  /** Longest value, 1 GiB: one mapping, one array and one LZ4 block can hold it. */
  public static final int VALUE_BYTES_MAX = 1 << 30;

  /** Most bytes of keys and values in one batch, 1 GiB, not counting a batch of a single entry. */
  public static final int BATCH_BYTES_MAX = 1 << 30;

  /** Highest sequence number: tags (sequence, kind byte) stay positive, so longs order them. */
  public static final long SEQUENCE_MAX = (1L << 55) - 1;

  /** Bytes of a keyspace's name in UTF-8. */
  public static final int KEYSPACE_NAME_BYTES_MAX = 255;

  /** Least bytes that files of tables and values are written in at once. */
  public static final int PIECE_BYTES_MIN = 256 << 10;

  private Limits() {}
}
