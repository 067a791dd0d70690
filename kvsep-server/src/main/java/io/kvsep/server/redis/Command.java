package io.kvsep.server.redis;

import java.util.function.Predicate;

/**
 * One command: its name, what it takes, and what it does.
 *
 * @param arity number of arguments, the name included; at least as many when negative
 * @param firstKey index of the first argument that is a key, 0 for none
 * @param lastKey index of the last, counted from the end when negative
 * @param onlyWrites whether a call with these arguments reads nothing, and may be part of a batch
 */
record Command(
    String name,
    int arity,
    Kind kind,
    int firstKey,
    int lastKey,
    int keyStep,
    Predicate<byte[][]> onlyWrites,
    Body body,
    String summary) {

  /** What a command touches, and so where it runs. */
  enum Kind {
    /** The connection or the server. */
    SESSION,
    /** Who the client is and how it is spoken to; not in a transaction. */
    GREETING,
    /** Begins and ends transactions: carried out at once after MULTI, too. */
    CONTROL,
    /** Reads the store. */
    READ,
    /** Reads the store several times, as of one moment. */
    READ_TOGETHER,
    /** Reads so much that others should not wait for it. */
    LONG_READ,
    /** Writes to the store, or reads and writes. */
    WRITE
  }

  /** What a command does. Everything is checked before the first write. */
  interface Body {
    void run(Call call);
  }

  static Command of(String name, int arity, Kind kind, Body body, String summary) {
    return new Command(name, arity, kind, 0, 0, 0, arguments -> false, body, summary);
  }

  /** With keys from one argument to another. */
  Command keys(int first, int last, int step) {
    return new Command(name, arity, kind, first, last, step, onlyWrites, body, summary);
  }

  Command onlyWrites(Predicate<byte[][]> when) {
    return new Command(name, arity, kind, firstKey, lastKey, keyStep, when, body, summary);
  }

  boolean takes(int count) {
    return arity >= 0 ? count == arity : count >= -arity;
  }

  /** Refuses keys that the store cannot have. */
  void checkKeys(byte[][] arguments) {
    if (firstKey > 0) {
      int last = lastKey < 0 ? arguments.length + lastKey : lastKey;
      for (int i = firstKey; i <= last; i += keyStep) {
        Keys.check(arguments[i]);
      }
    }
  }
}
