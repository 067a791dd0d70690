package io.kvsep.server.cli;

import java.io.BufferedOutputStream;
import java.io.Console;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Input and output of a command. Output is raw bytes, and text is UTF-8 on every platform, so
 * values are written exactly as stored.
 *
 * @param outputIsFile whether standard output goes to a regular file, not to a terminal or pipe
 * @param stopSignals takes what runs, on a separate thread, when the user asks the command to stop
 */
record Streams(
    InputStream input,
    StandardOutput output,
    PrintStream errors,
    boolean errorsAreTerminal,
    boolean outputIsFile,
    Consumer<Runnable> stopSignals) {

  /** Names standard input or output in place of a file. */
  static final String STANDARD = "-";

  /** Most columns that a progress line uses. */
  private static final int DRAWN_COLUMNS_MAX = 79;

  static Streams ofProcess() {
    OutputStream output =
        new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16);
    return new Streams(
        System.in,
        new StandardOutput(output),
        System.err,
        standardErrorIsTerminal(),
        Files.isRegularFile(Path.of("/proc/self/fd/1")),
        StopSignals::handle);
  }

  static Streams of(InputStream input, OutputStream output, OutputStream errors) {
    return new Streams(
        input,
        new StandardOutput(output),
        new PrintStream(errors, true, StandardCharsets.UTF_8),
        false,
        false,
        stop -> {});
  }

  /** Whether the user types commands: standard input and output of the process are a terminal. */
  boolean areInteractive() {
    try {
      return input == System.in && consoleIsTerminal();
    } catch (ReflectiveOperationException e) {
      return false;
    }
  }

  /** Opens a file that a command reads. A directory would fail later, without its name. */
  static InputStream file(Path path) throws IOException {
    if (Files.isDirectory(path)) {
      throw CommandFailure.failed(path + ": is a directory");
    }
    return Files.newInputStream(path);
  }

  /**
   * Prints a line on standard error. On a terminal it overwrites the progress line, which is then
   * redrawn below.
   */
  void warn(String message) {
    String line = Kvsep.line(message);
    errors.println(
        errorsAreTerminal
            ? "\r" + line + " ".repeat(Math.max(0, DRAWN_COLUMNS_MAX - line.length()))
            : line);
  }

  /**
   * The JDK's console covers standard input and output only, so /proc is asked first; without it
   * the console is the best guess.
   */
  private static boolean standardErrorIsTerminal() {
    if (Set.of("dumb", "").contains(System.getenv().getOrDefault("TERM", ""))) {
      return false;
    }
    Path descriptor = Path.of("/proc/self/fd/2");
    try {
      if (Files.isSymbolicLink(descriptor)) {
        String target = Files.readSymbolicLink(descriptor).toString();
        return target.startsWith("/dev/pts/")
            || target.startsWith("/dev/tty")
            || target.equals("/dev/console");
      }
      return consoleIsTerminal();
    } catch (IOException | ReflectiveOperationException e) {
      return false;
    }
  }

  /** Since JDK 22 there is a console even without a terminal, and a method to ask. */
  @SuppressWarnings("SystemConsoleNull") // The null check is for JDKs before 22.
  private static boolean consoleIsTerminal() throws ReflectiveOperationException {
    Console console = System.console();
    if (console == null || Runtime.version().feature() < 22) {
      return console != null;
    }
    return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
  }
}
