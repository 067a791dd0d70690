package io.kvsep;

/** How values are compressed, each alone. */
public enum ValueCompression {
  /** Stored as they are. */
  NONE,
  /** LZ4, for values from {@code valueCompressionBytesMin} up where it saves at least an eighth. */
  LZ4
}
