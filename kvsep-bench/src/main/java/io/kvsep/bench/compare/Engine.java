package io.kvsep.bench.compare;

import java.io.Closeable;

/**
 * One open store of one engine. Thread safe; what it hands out belongs to one thread. Whatever goes
 * wrong is an unchecked exception. A put or batch has been handed to the operating system when it
 * returns, whatever the durability, so that it survives the death of the process.
 */
interface Engine extends Closeable {
  String version();

  /** How it was configured, as one word: {@code name=value} pairs separated by commas. */
  String settings();

  Writer writer();

  /**
   * Reads of one thread.
   *
   * @param changing whether others write meanwhile, whose puts each read has to see; without, a
   *     reader may keep one transaction open
   */
  Reader reader(boolean changing);

  /** All that was written before is on stable storage on return. */
  void sync();

  /** Whether the engine itself syncs once a second with {@link SyncMode#ASYNC}. */
  default boolean syncsItself() {
    return false;
  }

  /**
   * Starts to write out what is only in memory and in a log, if there is any; the rest is for
   * {@link #isIdle}.
   */
  default void flush() {}

  /**
   * Whether nothing is flushed, compacted or reclaimed, as far as the engine tells. Always so
   * without work in the background.
   */
  default boolean isIdle() {
    return true;
  }

  /** Whether readers have {@link Reader#check}. */
  default boolean hasViews() {
    return false;
  }

  @Override
  void close();

  /** Writes of one thread. */
  interface Writer extends Closeable {
    /** Adds to the batch that {@link #commit} ends; the arrays are the caller's again on return. */
    void add(byte[] key, byte[] value);

    void commit();

    /** A put by itself, with nothing added before it. */
    default void put(byte[] key, byte[] value) {
      add(key, value);
      commit();
    }

    @Override
    void close();
  }

  /** Reads of one thread. */
  abstract class Reader implements Closeable {
    /** What {@link #get} found, from the first byte on; the next call may write over it. */
    byte[] bytes = new byte[0];

    /** How much of {@link #bytes} it is. */
    int length;

    /** Copies the value; false where the key is absent. */
    abstract boolean get(byte[] key);

    /** Hands a view of the value to {@code check}, uncopied; false where the key is absent. */
    boolean check(byte[] key, ViewCheck check) {
      throw new UnsupportedOperationException("no views");
    }

    abstract Cursor cursor(boolean keysOnly);

    @Override
    public abstract void close();
  }

  /** A walk from the first key on. */
  interface Cursor extends Closeable {
    boolean next();

    /** Copies the key; its length. */
    int key(byte[] target);

    /** Copies the value; its length. */
    int value(byte[] target);

    @Override
    void close();
  }
}
