package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.LineNumberReader;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Runs lines of commands on one store that stays open between them. */
final class Shell {
  /** They need the directory of a store that is not open, or the process for themselves. */
  private static final Set<String> LEFT_OUT =
      Set.of("cluster", "demo", "repair", "serve", "shell", CrashWriterCommand.NAME);

  private static final Set<String> EXIT = Set.of("exit", "quit");

  private final Streams streams;
  private final Streams ofCommands;
  private final HeldStore held;
  private volatile Runnable stop;
  private boolean ended;

  Shell(Streams streams, HeldStore held) {
    this.streams = streams;
    this.held = held;
    this.stop = streams.output()::interrupt;
    this.ofCommands =
        new Streams(
            new NoInput(),
            streams.output(),
            streams.errors(),
            streams.errorsAreTerminal(),
            streams.outputIsFile(),
            whenStopped -> stop = whenStopped);
  }

  Streams streams() {
    return streams;
  }

  HeldStore held() {
    return held;
  }

  /** Whether a line has ended the shell. */
  boolean hasEnded() {
    return ended;
  }

  /**
   * Runs lines of standard input to its end.
   *
   * @param keepGoing whether to go on behind a line that fails
   */
  int runInput(boolean keepGoing) throws IOException {
    int result = Kvsep.DONE;
    LineNumberReader lines = new LineNumberReader(new InputStreamReader(streams.input(), UTF_8));
    List<String> words = next(lines);
    while (words != null) {
      int code = run(words);
      result = code == Kvsep.DONE ? result : keepGoing ? Kvsep.FAILED : code;
      words = !ended && (keepGoing || result == Kvsep.DONE) ? next(lines) : null;
    }
    return result;
  }

  /**
   * Reads one command, which has several lines if it has a quotation mark that goes on behind the
   * first. Waits for no further line: the input may come from a program that waits for the answer.
   * Null at the end.
   */
  private static @Nullable List<String> next(LineNumberReader lines) throws IOException {
    String line = lines.readLine();
    if (line == null) {
      return null;
    }
    int first = lines.getLineNumber();
    StringBuilder command = new StringBuilder(line);
    List<String> words = ShellWords.split(line);
    while (words == null) {
      line = lines.readLine();
      if (line == null) {
        throw CommandFailure.failed("line " + first + ": a quotation mark is not closed");
      }
      command.append('\n').append(line);
      if (line.indexOf('\'') >= 0 || line.indexOf('"') >= 0) {
        words = ShellWords.split(command.toString());
      }
    }
    return words;
  }

  /** Runs one command, whose name may follow that of the program, and returns its exit code. */
  int run(List<String> words) {
    List<String> command =
        !words.isEmpty() && words.get(0).equals("kvsep") ? words.subList(1, words.size()) : words;
    if (command.isEmpty()) {
      return Kvsep.DONE;
    }
    if (EXIT.contains(command.get(0)) && command.size() == 1) {
      ended = true;
      return Kvsep.DONE;
    }
    // A command that waits for events replaces it by its own, and then ends without a failure.
    stop = streams.output()::interrupt;
    // An interrupt between two commands is for neither.
    streams.output().resume();
    try {
      return Kvsep.run(ofCommands, commands(), command.toArray(String[]::new));
    } finally {
      streams.output().resume();
    }
  }

  /** Ends the running command if it waits, or at its next step or write. Called on any thread. */
  void interrupt() {
    stop.run();
  }

  /** The commands of the shell, for one line. */
  CommandLine commands() {
    CommandLine line = Kvsep.commandLine(ofCommands);
    CommandSpec root = line.getCommandSpec();
    LEFT_OUT.forEach(root::removeSubcommand);
    for (CommandLine command : line.getSubcommands().values()) {
      CommandSpec store = command.getCommandSpec().mixins().get("store");
      if (store != null && store.userObject() instanceof StoreOptions options) {
        options.hold(held);
      }
    }
    line.setDefaultValueProvider(this::defaultValue);
    root.usageMessage().footer("", "COMMAND --help tells more. exit or Ctrl-D ends the shell.");
    return line;
  }

  /** Null leaves it to the argument. */
  private @Nullable String defaultValue(ArgSpec argument) {
    return argument instanceof OptionSpec option && option.longestName().equals("--dir")
        ? held.directory().toString()
        : null;
  }

  /** In place of standard input, which has the commands. */
  private static final class NoInput extends InputStream {
    @Override
    public int read() throws IOException {
      throw new IOException("standard input has the commands of the shell");
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      return read();
    }
  }
}
