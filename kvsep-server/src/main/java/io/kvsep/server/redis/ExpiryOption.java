package io.kvsep.server.redis;

/**
 * What the options of a command say of the expiry, and times as commands give them, turned into
 * moments. One option excludes the others; of the same one given again the last counts.
 */
final class ExpiryOption {
  private final String withoutTime;
  private String word = "";
  private int timeIndex;

  /**
   * Before any option is taken.
   *
   * @param withoutTime the option of the command that goes with no time: KEEPTTL or PERSIST
   */
  ExpiryOption(String withoutTime) {
    this.withoutTime = withoutTime;
  }

  /** Takes the option at an index; the index of the last argument that belongs to it. */
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

  /** When the entry is to end, {@link Entries#NEVER} when no option has a time. */
  long moment(Call call) {
    return hasTime() ? moment(call, word, timeIndex) : Entries.NEVER;
  }

  /** Whether a word says that the next argument is a time: EX, PX, EXAT or PXAT. */
  static boolean names(String word) {
    return switch (word) {
      case "EX", "PX", "EXAT", "PXAT" -> true;
      default -> false;
    };
  }

  /** The moment that such an option means; it must be given as a positive number. */
  static long moment(Call call, String word, int index) {
    long time = call.integer(index);
    if (time <= 0) {
      throw invalid(call);
    }
    return moment(call, time, word.startsWith("E"), word.endsWith("AT"));
  }

  /** A moment, which may have passed, and lie before any clock began. */
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
