package io.kvsep.server.redis;

import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;

/**
 * One command: its name, what it takes, and what it does.
 *
 * @param arity number of arguments, the name included; at least as many when negative
 * @param firstKey index of the first argument that is a key, 0 for none
 * @param lastKey index of the last, counted from the end when negative
 * @param onlyWrites whether a call with these arguments reads nothing, and may be part of a batch
 * @param subcommands what may come behind the name, none when that is no word of a fixed set
 * @param quick whether a call with few and short arguments is over soon, see {@link #isQuick}
 */
record Command(
    String name,
    int arity,
    Kind kind,
    int firstKey,
    int lastKey,
    int keyStep,
    Predicate<byte[][]> onlyWrites,
    Subcommands subcommands,
    boolean quick,
    Body body,
    String summary) {
  /** A call with more arguments, or more bytes in them, takes its time. */
  private static final int QUICK_ARGUMENTS_MAX = 33;

  private static final int QUICK_BYTES_MAX = 64 << 10;

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
    return new Command(
        name, arity, kind, 0, 0, 0, arguments -> false, Subcommands.NONE, false, body, summary);
  }

  /** With keys from one argument to another. */
  Command keys(int first, int last, int step) {
    return new Command(
        name, arity, kind, first, last, step, onlyWrites, subcommands, quick, body, summary);
  }

  Command onlyWrites(Predicate<byte[][]> when) {
    return new Command(
        name, arity, kind, firstKey, lastKey, keyStep, when, subcommands, quick, body, summary);
  }

  Command subcommands(Map<String, Integer> arities) {
    return new Command(
        name,
        arity,
        kind,
        firstKey,
        lastKey,
        keyStep,
        onlyWrites,
        new Subcommands(arities),
        quick,
        body,
        summary);
  }

  Command asQuick() {
    return new Command(
        name,
        arity,
        kind,
        firstKey,
        lastKey,
        keyStep,
        onlyWrites,
        subcommands,
        true,
        body,
        summary);
  }

  /** Whether the call is over so soon that an event loop can carry it out; true of no change. */
  boolean isQuick(Request request) {
    return quick
        && request.arguments.length <= QUICK_ARGUMENTS_MAX
        && request.bytes <= QUICK_BYTES_MAX
        && (kind != Kind.WRITE || onlyWrites.test(request.arguments));
  }

  /** Whether it looks at values in the store, or at what is known of them. */
  boolean reads() {
    return kind == Kind.READ || kind == Kind.READ_TOGETHER;
  }

  /** Refuses a call with too few or too many arguments, or with a subcommand that there is not. */
  void checkArguments(byte[][] arguments) {
    if (!takes(arity, arguments.length)) {
      throw CommandError.wrongArity(name);
    }
    subcommands.check(name, arguments);
  }

  /** The name, with that of the subcommand. */
  String fullName(byte[][] arguments) {
    return subcommands.arities().isEmpty() || arguments.length < 2
        ? name
        : name + "|" + Call.word(arguments[1]).toLowerCase(Locale.ROOT);
  }

  static boolean takes(int arity, int count) {
    return arity >= 0 ? count == arity : count >= -arity;
  }

  /** Refuses keys that the store cannot have. */
  void checkKeys(byte[][] arguments) {
    if (firstKey > 0) {
      int last = Math.min(arguments.length - 1, lastKey < 0 ? arguments.length + lastKey : lastKey);
      for (int i = firstKey; i <= last; i += keyStep) {
        Keys.check(arguments[i]);
      }
    }
  }
}
