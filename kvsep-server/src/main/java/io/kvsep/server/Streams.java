package io.kvsep.server;

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

/**
 * What a command reads from and writes to. Output is buffered bytes and text is UTF-8 whatever the
 * platform says, so that a value arrives exactly as it was stored.
 */
record Streams(
    InputStream input, StandardOutput output, PrintStream errors, boolean errorsAreTerminal) {

  /** Stands for standard input or output where a file is asked for. */
  static final String STANDARD = "-";

  static Streams ofProcess() {
    OutputStream output =
        new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16);
    return new Streams(
        System.in, new StandardOutput(output), System.err, standardErrorIsTerminal());
  }

  static Streams of(InputStream input, OutputStream output, OutputStream errors) {
    return new Streams(
        input,
        new StandardOutput(output),
        new PrintStream(errors, true, StandardCharsets.UTF_8),
        false);
  }

  /**
   * The console of the JDK speaks of standard input and output, not of standard error, so the
   * system is asked first; where it cannot be, the console is the best guess.
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

  /** From JDK 22 on there is a console even without a terminal, and a method that tells. */
  @SuppressWarnings("SystemConsoleNull") // The null check is for the JDKs before 22.
  private static boolean consoleIsTerminal() throws ReflectiveOperationException {
    Console console = System.console();
    if (console == null || Runtime.version().feature() < 22) {
      return console != null;
    }
    return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
  }
}
