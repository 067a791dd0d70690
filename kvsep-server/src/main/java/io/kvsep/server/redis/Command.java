package io.kvsep.server.redis;

import io.kvsep.server.cluster.ClusterNode;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * One command: its name, its arguments and what it does.
 *
 * @param arity number of arguments including the name; if negative, the least number
 * @param firstKey index of the first argument that is a key, 0 for none
 * @param lastKey index of the last key, counted from the end if negative
 * @param onlyWrites whether a call with these arguments reads nothing and may be part of a batch
 * @param subcommands words allowed after the name, none if these are not a fixed set
 * @param quick whether a call with few and short arguments may run on an event loop, see {@link
 *     #isQuick}
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
  /** Of a call without keys. */
  static final int NO_SHARD = -1;

  /** Limits of a call that counts as quick. */
  private static final int QUICK_ARGUMENTS_MAX = 33;

  private static final int QUICK_BYTES_MAX = 64 << 10;

  /** What a command accesses, which decides where it runs. */
  enum Kind {
    SESSION,
    /** Authenticates the client or selects the protocol; not allowed in a transaction. */
    GREETING,
    /** Begins and ends transactions: runs at once, also after MULTI. */
    CONTROL,
    READ,
    /** Reads the store several times, from one snapshot. */
    READ_TOGETHER,
    /** Reads so much that it runs on the executor for long commands. */
    LONG_READ,
    /** Writes to the store, and may read it. */
    WRITE
  }

  /** Executes a command. Checks everything before the first write. */
  interface Body {
    void run(Call call);
  }

  static Command of(String name, int arity, Kind kind, Body body, String summary) {
    return new Command(
        name, arity, kind, 0, 0, 0, arguments -> false, Subcommands.NONE, false, body, summary);
  }

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

  /** Whether the call is short enough for an event loop. False for every write that also reads. */
  boolean isQuick(Request request) {
    return quick
        && request.arguments.length <= QUICK_ARGUMENTS_MAX
        && request.bytes <= QUICK_BYTES_MAX
        && (kind != Kind.WRITE || onlyWrites.test(request.arguments));
  }

  boolean reads() {
    return kind == Kind.READ || kind == Kind.READ_TOGETHER;
  }

  void checkArguments(byte[][] arguments) {
    if (!takes(arity, arguments.length)) {
      throw CommandError.wrongArity(name);
    }
    subcommands.check(name, arguments);
  }

  String fullName(byte[][] arguments) {
    return subcommands.arities().isEmpty() || arguments.length < 2
        ? name
        : name + "|" + Call.word(arguments[1]).toLowerCase(Locale.ROOT);
  }

  static boolean takes(int arity, int count) {
    return arity >= 0 ? count == arity : count >= -arity;
  }

  void checkKeys(byte[][] arguments) {
    forEachKey(arguments, Keys::check);
  }

  /**
   * The shard of the keys, which are all in one, or {@link #NO_SHARD}.
   *
   * @param before the shard where they must be, {@link #NO_SHARD} for any
   */
  int shard(byte[][] arguments, ClusterNode node, int before) {
    int[] found = {before};
    forEachKey(
        arguments,
        key -> {
          int shard = node.shardOf(key);
          if (found[0] != NO_SHARD && found[0] != shard) {
            throw new CommandError("CROSSSLOT Keys in request don't hash to the same shard");
          }
          found[0] = shard;
        });
    return found[0];
  }

  private void forEachKey(byte[][] arguments, Consumer<byte[]> action) {
    if (firstKey > 0) {
      int last = Math.min(arguments.length - 1, lastKey < 0 ? arguments.length + lastKey : lastKey);
      for (int i = firstKey; i <= last; i += keyStep) {
        action.accept(arguments[i]);
      }
    }
  }
}
