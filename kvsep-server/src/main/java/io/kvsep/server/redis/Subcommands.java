package io.kvsep.server.redis;

import java.util.Locale;
import java.util.Map;

/**
 * The words allowed after a command's name, in upper case, with their arity: the number of
 * arguments including name and word; if negative, the least number. Immutable.
 */
record Subcommands(Map<String, Integer> arities) {
  static final Subcommands NONE = new Subcommands(Map.of());

  Subcommands {
    arities = Map.copyOf(arities);
  }

  /** Refuses an unknown word, and one with a wrong number of arguments. */
  void check(String command, byte[][] arguments) {
    if (arities.isEmpty() || arguments.length < 2) {
      return;
    }
    String word = Call.word(arguments[1]);
    Integer arity = arities.get(word);
    if (arity == null) {
      throw CommandError.unknownSubcommand(command, arguments[1]);
    }
    if (!Command.takes(arity, arguments.length)) {
      throw CommandError.wrongArity(command + "|" + word.toLowerCase(Locale.ROOT));
    }
  }
}
