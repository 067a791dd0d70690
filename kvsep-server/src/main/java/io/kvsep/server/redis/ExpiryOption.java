package io.kvsep.server.redis;

/**
 * The option of a command that sets the expiry, and the conversion of its time to a timestamp.
 * Different options exclude each other; if one is repeated, the last counts.
 */
final class ExpiryOption {
  private final String withoutTime;
  private String word = "";
  private int timeIndex;

  /**
   * @param withoutTime the option of the command that takes no time: KEEPTTL or PERSIST
   */
  ExpiryOption(String withoutTime) {
    this.withoutTime = withoutTime;
  }

  /** Parses the option at an index. Returns the index of its last argument. */
  int take(Call call, int index) {
    String next = call.word(index);
    boolean timed = names(next);
    boolean known = timed ? index + 1 < call.count() : next.equals(withoutTime);
    if (!known || !(word.isEmpty() || word.equals(next))) {
      throw CommandError.syntax();
    }
    word = next;
    timeIndex = timed ? index + 1 : 0;
    return timed ? timeIndex : index;
  }

  boolean isWithoutTime() {
    return word.equals(withoutTime);
  }

  boolean hasTime() {
    return timeIndex > 0;
  }

  /** Returns the expiry, {@link Entries#NEVER} if no option has a time. */
  long moment(Call call) {
    return hasTime() ? moment(call, word, timeIndex) : Entries.NEVER;
  }

  static boolean names(String word) {
    return switch (word) {
      case "EX", "PX", "EXAT", "PXAT" -> true;
      default -> false;
    };
  }

  /** Returns the timestamp that an option means. Its time must be positive. */
  static long moment(Call call, String word, int index) {
    long time = call.integer(index);
    if (time <= 0) {
      throw invalid(call);
    }
    return moment(call, time, word.startsWith("E"), word.endsWith("AT"));
  }

  /** Returns a timestamp, which may be in the past and negative. */
  static long moment(Call call, long time, boolean inSeconds, boolean absolute) {
    long millis = time;
    if (inSeconds) {
      if (time > Long.MAX_VALUE / 1000 || time < Long.MIN_VALUE / 1000) {
        throw invalid(call);
      }
      millis = time * 1000;
    }
    if (absolute) {
      return millis;
    }
    long now = call.nowMillis();
    if (millis > Long.MAX_VALUE - now) {
      throw invalid(call);
    }
    return now + millis;
  }

  private static CommandError invalid(Call call) {
    return new CommandError("ERR invalid expire time in '" + call.name + "' command");
  }
}
