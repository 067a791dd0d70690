package io.kvsep.server.cli;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Parses keys and values on the command line: UTF-8 text or hexadecimal digits. {@link
 * io.kvsep.server.json.ByteText} formats them.
 */
final class KeyNotation {
  private static final char UNDECODABLE = '\uFFFD';

  private KeyNotation() {}

  /**
   * Returns the bytes of an argument. Refuses arguments with bytes that the JVM may have failed to
   * decode: the original bytes are lost.
   */
  static byte[] parse(String name, String argument, boolean isHex) {
    if (isHex) {
      String digits = argument.startsWith("0x") ? argument.substring(2) : argument;
      try {
        return HexFormat.of().parseHex(digits);
      } catch (IllegalArgumentException e) {
        throw CommandFailure.misused(
            name + " must be an even number of hexadecimal digits: " + argument);
      }
    }
    if (isLossy(argument)) {
      throw CommandFailure.misused(name + lost() + ", or give it in hexadecimal");
    }
    return argument.getBytes(StandardCharsets.UTF_8);
  }

  /** What to tell of a lossy argument, behind its name. */
  static String lost() {
    return " may hold bytes that the encoding of this locale ("
        + System.getProperty("sun.jnu.encoding")
        + ") cannot carry: set LC_ALL=C.UTF-8";
  }

  static boolean isLossy(String argument) {
    return isLossy(argument, System.getProperty("sun.jnu.encoding", "UTF-8"));
  }

  /** In an ASCII locale the JVM replaces every other byte of an argument with a question mark. */
  static boolean isLossy(String argument, String encoding) {
    boolean isAscii = encoding.equals("ANSI_X3.4-1968") || encoding.equals("US-ASCII");
    return argument.indexOf(UNDECODABLE) >= 0
        || (isAscii && argument.indexOf('?') >= 0)
        || !StandardCharsets.UTF_8.newEncoder().canEncode(argument);
  }
}
