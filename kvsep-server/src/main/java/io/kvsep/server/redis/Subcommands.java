package io.kvsep.server.redis;

import java.util.Locale;
import java.util.Map;

/**
 * The words that may come behind the name of a command, in upper case, with the number of arguments
 * that each goes with: name and word included, at least as many when negative. Immutable.
 */
record Subcommands(Map<String, Integer> arities) {
  static final Subcommands NONE = new Subcommands(Map.of());

  Subcommands {
    arities = Map.copyOf(arities);
  }

  /** Refuses a word that there is not, and one with too few or too many arguments. */
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
