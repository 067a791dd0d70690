package io.kvsep.server.redis;

import io.kvsep.Snapshot;
import io.kvsep.server.redis.Command.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * LCS: the longest common subsequence of two values. Takes time and four bytes of memory for each
 * pair of their bytes.
 */
final class LcsCommand {
  private static final byte[] NONE = {};

  private LcsCommand() {}

  static List<Command> all() {
    return List.of(
        Command.of("lcs", -3, Kind.LONG_READ, LcsCommand::run, "Finds what two values share")
            .keys(1, 2, 1));
  }

  private static final class Options {
    boolean lengthOnly;
    boolean indexes;
    boolean withLengths;
    long lengthMin;

    static Options of(Call call) {
      Options options = new Options();
      for (int i = 3; i < call.count(); i++) {
        switch (call.word(i)) {
          case "LEN" -> options.lengthOnly = true;
          case "IDX" -> options.indexes = true;
          case "WITHMATCHLEN" -> options.withLengths = true;
          case "MINMATCHLEN" -> {
            if (++i == call.count()) {
              throw CommandError.syntax();
            }
            options.lengthMin = call.integer(i);
          }
          default -> throw CommandError.syntax();
        }
      }
      if (options.lengthOnly && options.indexes) {
        throw new CommandError("ERR If you want both the length and indexes, please just use IDX.");
      }
      return options;
    }
  }

  /** A run of bytes in both values; the ends are inclusive. */
  private record Match(int firstEnd, int secondEnd, int length) {}

  private static void run(Call call) {
    Options options = Options.of(call);
    try (RequestBudget.Share share = call.server.budget().share();
        Snapshot snapshot = call.server.store().snapshot()) {
      Entries entries = call.server.databases().in(snapshot).at(call.session.database);
      byte[] first = value(entries, call.bytes(1), share);
      byte[] second = value(entries, call.bytes(2), share);
      long cells = (first.length + 1L) * (second.length + 1L);
      share.take(Integer.BYTES * cells);
      if (cells > Integer.MAX_VALUE - 8) {
        throw new CommandLimitException("the values are too long to be compared");
      }
      reply(call, options, first, second, lengths(call, first, second));
    }
  }

  private static byte[] value(Entries entries, byte[] key, RequestBudget.Share share) {
    var info = entries.info(key);
    share.take(info == null ? 0 : info.valueLength());
    return info == null ? NONE : Objects.requireNonNullElse(entries.get(key), NONE);
  }

  /**
   * Length of the common subsequence for each pair of prefixes; rows are prefixes of the first
   * value.
   */
  private static int[] lengths(Call call, byte[] first, byte[] second) {
    int columns = second.length + 1;
    int[] lengths = new int[(first.length + 1) * columns];
    for (int i = 1; i <= first.length && !call.session.gone; i++) {
      int row = i * columns;
      for (int j = 1; j < columns; j++) {
        lengths[row + j] =
            first[i - 1] == second[j - 1]
                ? lengths[row - columns + j - 1] + 1
                : Math.max(lengths[row - columns + j], lengths[row + j - 1]);
      }
    }
    return lengths;
  }

  private static void reply(
      Call call, Options options, byte[] first, byte[] second, int[] lengths) {
    int length = lengths[lengths.length - 1];
    if (options.lengthOnly) {
      call.out.integer(length);
      return;
    }
    byte[] common = new byte[length];
    List<Match> matches = matches(first, second, lengths, common);
    if (!options.indexes) {
      call.out.bulk(common);
      return;
    }
    matches.removeIf(match -> match.length < options.lengthMin);
    call.out.map(2);
    call.out.bulk("matches");
    call.out.array(matches.size());
    for (Match match : matches) {
      call.out.array(options.withLengths ? 3 : 2);
      place(call.out, match.firstEnd, match.length);
      place(call.out, match.secondEnd, match.length);
      if (options.withLengths) {
        call.out.integer(match.length);
      }
    }
    call.out.bulk("len");
    call.out.integer(length);
  }

  private static void place(Replies out, int end, int length) {
    out.array(2);
    out.integer(end - length + 1);
    out.integer(end);
  }

  /**
   * Collects the matches and the common bytes backwards from the ends of the values, as Redis does.
   */
  private static List<Match> matches(byte[] first, byte[] second, int[] lengths, byte[] common) {
    List<Match> matches = new ArrayList<>();
    int columns = second.length + 1;
    int i = first.length;
    int j = second.length;
    int left = common.length;
    while (left > 0) {
      int length = 0;
      while (i > length && j > length && first[i - 1 - length] == second[j - 1 - length]) {
        common[--left] = first[i - 1 - length];
        length++;
      }
      if (length > 0) {
        matches.add(new Match(i - 1, j - 1, length));
        i -= length;
        j -= length;
      } else if (lengths[(i - 1) * columns + j] > lengths[i * columns + j - 1]) {
        i--;
      } else {
        j--;
      }
    }
    return matches;
  }
}
