package io.kvsep.internal.version;

/** Number of tables and the sum of their file lengths. */
public record TableTotal(int count, long bytes) {
  TableTotal minus(TableTotal other) {
    return new TableTotal(count - other.count, bytes - other.bytes);
  }

  public TableTotal plus(TableTotal other) {
    return new TableTotal(count + other.count, bytes + other.bytes);
  }
}
