package io.kvsep.server.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Writes the completion script that distributions contain. */
@Command(name = "completion", hidden = true, description = "Write a script for bash and zsh.")
final class CompletionCommand implements Callable<Integer> {
  private final Streams streams;
  private final CommandLine kvsep;

  CompletionCommand(Streams streams, CommandLine kvsep) {
    this.streams = streams;
    this.kvsep = kvsep;
  }

  @Override
  public Integer call() throws IOException {
    String script = AutoComplete.bash(kvsep.getCommandName(), kvsep);
    streams.output().write(script.getBytes(StandardCharsets.UTF_8));
    return Kvsep.DONE;
  }
}
