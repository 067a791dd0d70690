package io.kvsep.server.cli;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.jline.reader.EOFError;
import org.jline.reader.EndOfFileException;
import org.jline.reader.LineReader;
import org.jline.reader.LineReaderBuilder;
import org.jline.reader.ParsedLine;
import org.jline.reader.UserInterruptException;
import org.jline.reader.impl.DefaultParser;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;
import org.jspecify.annotations.Nullable;

/** A shell on a terminal, with history and completion. */
final class ShellTerminal {
  private static final String PROMPT = "kvsep> ";

  private ShellTerminal() {}

  static int run(Shell shell) throws IOException {
    // Without the search for grapheme clusters, which waits for answers that some terminals never
    // give.
    try (Terminal terminal =
        TerminalBuilder.builder()
            .system(true)
            .dumb(true)
            .nativeSignals(true)
            .graphemeCluster(false)
            .build()) {
      return run(shell, terminal, history(Path.of(System.getProperty("user.home", ""))));
    }
  }

  /**
   * Reads and runs lines to the end of the terminal's input.
   *
   * @param history the file that keeps the lines, null for none
   */
  static int run(Shell shell, Terminal terminal, @Nullable Path history) throws IOException {
    // A store that cannot be opened is told of at once, a missing one by the first command.
    boolean isThere = shell.held().openIfThere() != null;
    LineReaderBuilder builder =
        LineReaderBuilder.builder()
            .appName("kvsep")
            .terminal(terminal)
            .parser(new CommandParser())
            .completer(new ShellCompleter(shell))
            .option(LineReader.Option.DISABLE_EVENT_EXPANSION, true);
    if (history != null) {
      builder.variable(LineReader.HISTORY_FILE, history);
    }
    LineReader reader = builder.build();
    terminal.handle(Terminal.Signal.INT, signal -> shell.interrupt());
    terminal
        .writer()
        .println(
            Kvsep.version()
                + ", "
                + (isThere ? "" : "no store yet in ")
                + shell.held().directory()
                + "; help lists the commands, exit ends the shell");
    while (!shell.hasEnded()) {
      try {
        List<String> words = read(reader);
        if (words != null) {
          shell.run(words);
          shell.streams().output().endLine();
        }
      } catch (EndOfFileException e) {
        break;
      }
    }
    return Kvsep.DONE;
  }

  /** The next command; null if there is none, or Ctrl-C dropped the line. */
  private static @Nullable List<String> read(LineReader reader) {
    try {
      return ShellWords.split(reader.readLine(PROMPT));
    } catch (UserInterruptException e) {
      return null;
    }
  }

  /** Reads on exactly where {@link ShellWords} says that a quotation mark is not closed. */
  private static final class CommandParser extends DefaultParser {
    @Override
    public ParsedLine parse(String line, int cursor, ParseContext context) {
      if (context == ParseContext.ACCEPT_LINE && ShellWords.split(line) == null) {
        throw new EOFError(-1, cursor, "a quotation mark is not closed", "quote");
      }
      return super.parse(line, cursor, context);
    }
  }

  /** Readable for its owner alone: lines have keys and values. Null if it cannot be made. */
  private static @Nullable Path history(Path home) {
    Path file = home.resolve(".kvsep_history");
    try {
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    } catch (FileAlreadyExistsException e) {
      return file;
    } catch (IOException | UnsupportedOperationException e) {
      return null;
    }
    return file;
  }
}
