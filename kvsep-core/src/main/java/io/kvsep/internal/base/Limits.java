package io.kvsep.internal.base;

/** All maxima of the engine and their reasons. */
public final class Limits {
  /** Longest user key: every format has two bytes for the length. */
  public static final int KEY_BYTES_MAX = 65_535;

  /** See {@link Keyspaces}. */
  public static final int KEYSPACE_PREFIX_BYTES_MAX = 5;

  /** Keyspace prefix and user key. */
  public static final int STORED_KEY_BYTES_MAX = KEY_BYTES_MAX + KEYSPACE_PREFIX_BYTES_MAX;

  /** Longest value, 1 GiB: fits one mapping, one array and one LZ4 block. */
  public static final int VALUE_BYTES_MAX = 1 << 30;

  /** Keys and values of a batch of several entries, 1 GiB. */
  public static final int BATCH_BYTES_MAX = 1 << 30;

  /** Keeps tags (sequence, kind byte) positive, so that they sort as longs. */
  public static final long SEQUENCE_MAX = (1L << 55) - 1;

  /** In UTF-8. */
  public static final int KEYSPACE_NAME_BYTES_MAX = 255;

  /** Length of full writes to tables and blob files. */
  public static final int PIECE_BYTES = 256 << 10;

  private Limits() {}
}
