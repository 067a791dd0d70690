package io.kvsep.bench.compare;

import io.kvsep.bench.Arguments;
import io.kvsep.bench.UsageException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Draws the charts of a comparison again, from its CSV alone. */
public final class ChartsCommand {
  private ChartsCommand() {}

  public static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    String csv = arguments.text("csv");
    String directory = arguments.text("to");
    arguments.requireAllUsed();
    if (csv == null || directory == null) {
      throw new UsageException("charts needs --csv FILE and --to DIR");
    }
    for (Path file : Charts.write(Path.of(csv), Path.of(directory))) {
      System.out.println(file);
    }
  }
}
