package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;

/** What a program writes to standard output, lines ended by \n. */
final class Printed {
  private Printed() {}

  static String by(Runnable program) {
    PrintStream before = System.out;
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    System.setOut(new PrintStream(output, true, UTF_8));
    try {
      program.run();
    } finally {
      System.setOut(before);
    }
    return output.toString(UTF_8).replace(System.lineSeparator(), "\n");
  }
}
