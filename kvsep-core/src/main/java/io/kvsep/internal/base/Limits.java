package io.kvsep.internal.base;

/** All maxima of the engine and their reasons. */
public final class Limits {
  /** Longest user key: every format has two bytes for the length. */
  public static final int KEY_BYTES_MAX = 65_535;

  /** Longest keyspace prefix, see {@link Keyspaces}. */
  public static final int KEYSPACE_PREFIX_BYTES_MAX = 5;

  /** Longest stored key: keyspace prefix and user key. */
  public static final int STORED_KEY_BYTES_MAX = KEY_BYTES_MAX + KEYSPACE_PREFIX_BYTES_MAX;

  /** Longest value, 1 GiB: fits one mapping, one array and one LZ4 block. */
  public static final int VALUE_BYTES_MAX = 1 << 30;

  /** Most bytes of keys and values in a batch, 1 GiB, except for a batch of one entry. */
  public static final int BATCH_BYTES_MAX = 1 << 30;

  /**
   * Highest sequence number: tags (sequence, kind byte) stay positive, so their order is that of
   * longs.
   */
  public static final long SEQUENCE_MAX = (1L << 55) - 1;

  /** Longest keyspace name in UTF-8 bytes. */
  public static final int KEYSPACE_NAME_BYTES_MAX = 255;

  /** Length of full writes to tables and blob files. */
  public static final int PIECE_BYTES = 256 << 10;

  private Limits() {}
}
