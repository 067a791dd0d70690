package io.kvsep.server.cli;

import picocli.CommandLine.Option;

/** Options of every command, handled by the parser. */
final class CommonOptions {
  static final String STACK_TRACE = "--stacktrace";

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help and exit.")
  boolean help;

  @Option(names = STACK_TRACE, hidden = true, description = "Show where an error came from.")
  boolean stackTrace;
}
