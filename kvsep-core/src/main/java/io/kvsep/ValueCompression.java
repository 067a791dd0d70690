package io.kvsep;

/** How values are compressed. Each value is compressed separately. */
public enum ValueCompression {
  /** Stored uncompressed. */
  NONE,
  /** LZ4, for values from {@code valueCompressionBytesMin} up, if it saves at least an eighth. */
  LZ4
}
