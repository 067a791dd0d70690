package io.kvsep.server.cli;

import io.kvsep.ScanOptions;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The keys that a command works on: all, those with a prefix, or those of a range. */
final class RangeOptions {
  @Option(names = "--prefix", paramLabel = "P", description = "Only keys that begin with P.")
  private @Nullable String prefix;

  @Option(names = "--from", paramLabel = "K", description = "Only keys from K on.")
  private @Nullable String from;

  @Option(names = "--to", paramLabel = "K", description = "Only keys before K.")
  private @Nullable String to;

  @Option(names = "--key-hex", description = "P and K are hexadecimal digits.")
  private boolean keyHex;

  /** From {@code first} to before {@code end}; null for an open end. */
  record Range(byte @Nullable [] first, byte @Nullable [] end) {
    ScanOptions scan() {
      return ScanOptions.range(first, end);
    }
  }

  Range range() {
    if (prefix == null) {
      return new Range(bound("--from", from), bound("--to", to));
    }
    if (from != null || to != null) {
      throw CommandFailure.misused("--prefix goes with neither --from nor --to");
    }
    byte[] first = KeyNotation.parse("--prefix", prefix, keyHex);
    return new Range(first.length == 0 ? null : first, firstKeyAfter(first));
  }

  private byte @Nullable [] bound(String name, @Nullable String text) {
    return text == null ? null : KeyNotation.parse(name, text, keyHex);
  }

  /** The first key after those with a prefix; null if there is none. */
  static byte @Nullable [] firstKeyAfter(byte[] prefix) {
    for (int i = prefix.length - 1; i >= 0; i--) {
      if (prefix[i] != (byte) 0xff) {
        byte[] after = Arrays.copyOf(prefix, i + 1);
        after[i]++;
        return after;
      }
    }
    return null;
  }
}
