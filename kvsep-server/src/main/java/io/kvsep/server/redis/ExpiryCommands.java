package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.Command.Kind;
import java.util.List;

/** Commands on the expiry of keys. */
final class ExpiryCommands {
  private static final int ABSENT = -2;
  private static final int NO_EXPIRY = -1;

  private ExpiryCommands() {}

  static List<Command> all() {
    return List.of(
        expire("expire", true, false, "Lets a key expire after seconds"),
        expire("pexpire", false, false, "Lets a key expire after milliseconds"),
        expire("expireat", true, true, "Lets a key expire at a Unix time"),
        expire("pexpireat", false, true, "Lets a key expire at a Unix time in milliseconds"),
        ask("ttl", true, false, "Gives the seconds left"),
        ask("pttl", false, false, "Gives the milliseconds left"),
        ask("expiretime", true, true, "Gives the Unix time of expiry"),
        ask("pexpiretime", false, true, "Gives the Unix time of expiry in milliseconds"),
        Command.of("persist", 2, Kind.WRITE, ExpiryCommands::persist, "Lets a key never expire")
            .keys(1, 1, 1));
  }

  private static Command expire(String name, boolean inSeconds, boolean absolute, String summary) {
    return Command.of(name, -3, Kind.WRITE, call -> expire(call, inSeconds, absolute), summary)
        .keys(1, 1, 1);
  }

  private static Command ask(String name, boolean inSeconds, boolean absolute, String summary) {
    return Command.of(name, 2, Kind.READ, call -> ask(call, inSeconds, absolute), summary)
        .keys(1, 1, 1)
        .asQuick();
  }

  private static final class Condition {
    boolean ifNone;
    boolean ifAny;
    boolean ifLater;
    boolean ifEarlier;

    static Condition of(Call call) {
      Condition condition = new Condition();
      for (int i = 3; i < call.count(); i++) {
        switch (call.word(i)) {
          case "NX" -> condition.ifNone = true;
          case "XX" -> condition.ifAny = true;
          case "GT" -> condition.ifLater = true;
          case "LT" -> condition.ifEarlier = true;
          default -> throw new CommandError("ERR Unsupported option " + call.text(i));
        }
      }
      if (condition.ifNone && (condition.ifAny || condition.ifLater || condition.ifEarlier)) {
        throw new CommandError(
            "ERR NX and XX, GT or LT options at the same time are not compatible");
      }
      if (condition.ifLater && condition.ifEarlier) {
        throw new CommandError("ERR GT and LT options at the same time are not compatible");
      }
      return condition;
    }

    /** No expiry counts as later than any expiry. */
    boolean holds(long current, long wanted) {
      boolean none = current == Entries.NEVER;
      return !(ifNone && !none)
          && !(ifAny && none)
          && !(ifLater && (none || wanted <= current))
          && !(ifEarlier && !none && wanted >= current);
    }
  }

  private static void expire(Call call, boolean inSeconds, boolean absolute) {
    Condition condition = Condition.of(call);
    long moment = ExpiryOption.moment(call, call.integer(2), inSeconds, absolute);
    Entries entries = call.entries();
    byte[] key = call.bytes(1);
    EntryInfo info = entries.info(key);
    byte[] value = info == null ? null : entries.get(key);
    if (value == null || !condition.holds(Entries.expiry(info), moment)) {
      call.out.integer(0);
      return;
    }
    call.out.integer(1);
    if (moment <= call.nowMillis()) {
      entries.delete(key);
    } else {
      entries.put(key, value, moment);
    }
  }

  private static void persist(Call call) {
    Entries entries = call.entries();
    byte[] key = call.bytes(1);
    EntryInfo info = entries.info(key);
    boolean expires = Entries.expiry(info) != Entries.NEVER;
    byte[] value = expires ? entries.get(key) : null;
    call.out.integer(value == null ? 0 : 1);
    if (value != null) {
      entries.put(key, value, Entries.NEVER);
    }
  }

  private static void ask(Call call, boolean inSeconds, boolean absolute) {
    EntryInfo info = call.entries().info(call.bytes(1));
    if (info == null) {
      call.out.integer(ABSENT);
      return;
    }
    long moment = Entries.expiry(info);
    if (moment == Entries.NEVER) {
      call.out.integer(NO_EXPIRY);
      return;
    }
    long millis = absolute ? moment : Math.max(0, moment - call.nowMillis());
    call.out.integer(inSeconds ? millis / 1000 + (millis % 1000 >= 500 ? 1 : 0) : millis);
  }
}
