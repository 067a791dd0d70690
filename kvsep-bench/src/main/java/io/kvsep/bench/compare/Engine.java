package io.kvsep.bench.compare;

import java.io.Closeable;
import org.jspecify.annotations.Nullable;

/**
 * An open store of one engine. Thread safe, but its readers and writers belong to one thread. All
 * failures are unchecked exceptions. A put or batch has reached the operating system when it
 * returns, whatever the durability, and so survives the death of the process.
 */
interface Engine extends Closeable {
  String version();

  /** Configuration as one word: {@code name=value} pairs separated by commas. */
  String settings();

  Writer writer();

  /**
   * Creates a reader for one thread.
   *
   * @param changing whether there are concurrent puts, which each read must see; if not, a reader
   *     may keep one transaction open
   */
  Reader reader(boolean changing);

  /** Makes all earlier writes durable. */
  void sync();

  /** Whether the engine itself syncs once a second with {@link SyncMode#ASYNC}. */
  default boolean syncsItself() {
    return false;
  }

  /**
   * Starts to write out data that is only in memory and in a log; {@link #isIdle} shows the end.
   */
  default void flush() {}

  /**
   * Whether no flush, compaction or reclaim is running, as far as the engine reports. Always true
   * without background work.
   */
  default boolean isIdle() {
    return true;
  }

  /**
   * Does all that the engine offers to bring its files into their best form while it is open, and
   * returns when it is done.
   */
  default void maintain() {}

  /** Whether readers support {@link Reader#check}. */
  default boolean hasViews() {
    return false;
  }

  @Override
  void close();

  /** Writes of one thread. */
  interface Writer extends Closeable {
    /** Adds to the batch that {@link #commit} ends; the caller may reuse the arrays on return. */
    void add(byte[] key, byte[] value);

    void commit();

    /** A single put; no batch may be open. */
    default void put(byte[] key, byte[] value) {
      add(key, value);
      commit();
    }

    @Override
    void close();
  }

  /** Reads of one thread. */
  abstract class Reader implements Closeable {
    /** Result of a get, from the first byte on. */
    byte[] bytes = new byte[0];

    /** Length of the result in {@link #bytes}. */
    int length;

    /** Gets the value as an array of its own; false if the key is absent. */
    abstract boolean get(byte[] key);

    /** Copies the value into an array that the next call overwrites; false if the key is absent. */
    abstract boolean getReused(byte[] key);

    /** Passes a view of the value to {@code check}; false if the key is absent. */
    boolean check(byte[] key, ViewCheck check) {
      throw new UnsupportedOperationException("no views");
    }

    /**
     * A scan of what the reader sees, in key order.
     *
     * @param from the first key, or null for that of the store
     */
    abstract Cursor cursor(byte @Nullable [] from, boolean keysOnly);

    @Override
    public abstract void close();
  }

  /** A scan, before its first entry. */
  interface Cursor extends Closeable {
    boolean next();

    /** Copies the key and returns its length. */
    int key(byte[] target);

    /** Copies the value and returns its length. */
    int value(byte[] target);

    @Override
    void close();
  }
}
