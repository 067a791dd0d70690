package io.kvsep.server;

import java.io.PrintStream;

/** What stands in the last line of a terminal and is drawn anew in its place. Not thread safe. */
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

  /** Leaves an empty line, with the cursor at its start. */
  void wipe() {
    if (columns > 0) {
      draw("");
      terminal.print("\r");
      terminal.flush();
    }
  }
}
