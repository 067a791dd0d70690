package io.kvsep.server.cli;

import java.io.PrintStream;

/** The last line of a terminal, redrawn in place. Not thread safe. */
final class TerminalLine {
  private final PrintStream terminal;
  private int columns;

  TerminalLine(PrintStream terminal) {
    this.terminal = terminal;
  }

  void draw(String text) {
    String blanks = " ".repeat(Math.max(0, columns - text.length()));
    terminal.print("\r" + text + blanks);
    terminal.flush();
    columns = text.length();
  }

  /** Clears the line and moves the cursor to its start. */
  void wipe() {
    if (columns > 0) {
      draw("");
      terminal.print("\r");
      terminal.flush();
    }
  }
}
