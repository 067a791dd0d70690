package io.kvsep.server.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "shell",
    description = "Work on the store with one command per line, without --dir.",
    footer = {
      "",
      "On a terminal the line can be edited, Tab completes commands, options,",
      "keyspaces, keys and files, and ~/.kvsep_history keeps the lines, but not those",
      "that begin with a blank. Ctrl-C ends a command at its next entry; checkpoint,",
      "compact, reclaim and verify run to their end. Ctrl-D or exit ends the shell.",
      "Without a terminal commands come from standard input, one a line, up to the",
      "first that fails; its exit code is that of the shell.",
      "",
      "Words are separated by blanks. Quotation marks (' or \") keep blanks in a word,",
      "a backslash takes the next character as it is. Lines that begin with # are",
      "comments. The store stays open from the first command that needs it to the end,",
      "and no other process can open it."
    })
final class ShellCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(
      names = "--read-only",
      description = "Open the store for reading, as other processes may then do too.")
  private boolean readOnly;

  @Option(
      names = "--keep-going",
      description = "Go on behind a command of standard input that fails; the exit code is then 1.")
  private boolean keepGoing;

  ShellCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    try (HeldStore held = new HeldStore(store.directory(), readOnly)) {
      Shell shell = new Shell(streams, held);
      return streams.areInteractive() ? ShellTerminal.run(shell) : shell.runInput(keepGoing);
    }
  }
}
