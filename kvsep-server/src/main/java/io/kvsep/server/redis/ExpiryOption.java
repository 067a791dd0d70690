package io.kvsep.server.redis;

/** Times as commands give them, turned into moments. */
final class ExpiryOption {
  private ExpiryOption() {}

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
