package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.Command.Kind;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Commands on whole values. Each writes its reply before it writes to the store, so that a refused
 * command changes nothing.
 */
final class StringCommands {
  private static final byte[] NONE = {};

  private StringCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("get", 2, Kind.READ, StringCommands::get, "Gives the value of a key")
            .keys(1, 1, 1)
            .asQuick(),
        Command.of("set", -3, Kind.WRITE, StringCommands::set, "Sets a key")
            .keys(1, 1, 1)
            .asQuick()
            .onlyWrites(StringCommands::setOnlyWrites),
        Command.of("setnx", 3, Kind.WRITE, StringCommands::setIfAbsent, "Sets a key that is absent")
            .keys(1, 1, 1),
        Command.of("setex", 4, Kind.WRITE, call -> setWithTime(call, true), "Sets a key for a time")
            .keys(1, 1, 1)
            .asQuick()
            .onlyWrites(arguments -> true),
        Command.of(
                "psetex", 4, Kind.WRITE, call -> setWithTime(call, false), "Sets a key for a time")
            .keys(1, 1, 1)
            .asQuick()
            .onlyWrites(arguments -> true),
        Command.of(
                "getset",
                3,
                Kind.WRITE,
                StringCommands::getAndSet,
                "Sets a key, gives the old value")
            .keys(1, 1, 1),
        Command.of(
                "delifeq", 3, Kind.WRITE, StringCommands::deleteIfEqual, "Deletes a key of a value")
            .keys(1, 1, 1),
        Command.of("getdel", 2, Kind.WRITE, StringCommands::getAndDelete, "Gives and deletes")
            .keys(1, 1, 1),
        Command.of(
                "getex", -2, Kind.WRITE, StringCommands::getAndExpire, "Gives, changes the expiry")
            .keys(1, 1, 1),
        Command.of(
                "mget", -2, Kind.READ_TOGETHER, StringCommands::getMany, "Gives the values of keys")
            .keys(1, -1, 1)
            .asQuick(),
        Command.of("mset", -3, Kind.WRITE, StringCommands::setMany, "Sets keys")
            .keys(1, -1, 2)
            .asQuick()
            .onlyWrites(arguments -> true),
        Command.of(
                "msetnx", -3, Kind.WRITE, StringCommands::setManyIfAbsent, "Sets keys, all or none")
            .keys(1, -1, 2),
        Command.of("append", 3, Kind.WRITE, StringCommands::append, "Adds to the end of a value")
            .keys(1, 1, 1),
        Command.of("strlen", 2, Kind.READ, StringCommands::length, "Gives the length of a value")
            .keys(1, 1, 1)
            .asQuick(),
        Command.of("getrange", 4, Kind.READ, StringCommands::range, "Gives a part of a value")
            .keys(1, 1, 1),
        Command.of("substr", 4, Kind.READ, StringCommands::range, "Gives a part of a value")
            .keys(1, 1, 1),
        Command.of(
                "setrange", 4, Kind.WRITE, StringCommands::setRange, "Overwrites a part of a value")
            .keys(1, 1, 1));
  }

  private static void get(Call call) {
    if (call.entries().read(call.bytes(1), call.out.bulks()) == null) {
      call.out.nothing();
    }
  }

  private static final class SetOptions {
    boolean ifAbsent;
    boolean ifPresent;

    /** Index of the value that the key must have, 0 for none. */
    int ifEqual;

    boolean get;
    boolean keepExpiry;
    long expiresAtMillis = Entries.NEVER;

    static SetOptions of(Call call) {
      SetOptions options = new SetOptions();
      ExpiryOption expiry = new ExpiryOption("KEEPTTL");
      for (int i = 3; i < call.count(); i++) {
        String word = call.word(i);
        if (word.equals("NX") && !options.ifPresent && options.ifEqual == 0) {
          options.ifAbsent = true;
        } else if (word.equals("XX") && !options.ifAbsent && options.ifEqual == 0) {
          options.ifPresent = true;
        } else if (word.equals("IFEQ") && options.takesEqual() && i + 1 < call.count()) {
          options.ifEqual = ++i;
        } else if (word.equals("GET")) {
          options.get = true;
        } else {
          i = expiry.take(call, i);
        }
      }
      options.keepExpiry = expiry.isWithoutTime();
      // As in Redis, the time is checked only if the options are compatible.
      options.expiresAtMillis = expiry.moment(call);
      return options;
    }

    private boolean takesEqual() {
      return !ifAbsent && !ifPresent && ifEqual == 0;
    }

    boolean reads() {
      return ifAbsent || ifPresent || ifEqual > 0 || get || keepExpiry;
    }
  }

  private static boolean setOnlyWrites(byte[][] arguments) {
    return arguments.length == 3
        || (arguments.length == 5 && ExpiryOption.names(Call.word(arguments[3])));
  }

  private static void set(Call call) {
    byte[] key = call.bytes(1);
    SetOptions options = SetOptions.of(call);
    if (!options.reads()) {
      call.out.ok();
      call.entries().put(key, call.bytes(2), options.expiresAtMillis);
      return;
    }
    Entries entries = call.entries();
    EntryInfo info = entries.info(key);
    boolean sets =
        !(options.ifAbsent && info != null)
            && !(options.ifPresent && info == null)
            && (options.ifEqual == 0 || entries.has(key, call.bytes(options.ifEqual)));
    if (options.get) {
      call.out.bulkOrNull(info == null ? null : entries.get(key));
    } else if (sets) {
      call.out.ok();
    } else {
      call.out.nothing();
    }
    if (sets) {
      long kept = options.keepExpiry ? Entries.expiry(info) : options.expiresAtMillis;
      entries.put(key, call.bytes(2), kept);
    }
  }

  private static void setIfAbsent(Call call) {
    Entries entries = call.entries();
    boolean absent = !entries.contains(call.bytes(1));
    call.out.integer(absent ? 1 : 0);
    if (absent) {
      entries.put(call.bytes(1), call.bytes(2), Entries.NEVER);
    }
  }

  private static void setWithTime(Call call, boolean inSeconds) {
    long moment = ExpiryOption.moment(call, inSeconds ? "EX" : "PX", 2);
    call.out.ok();
    call.entries().put(call.bytes(1), call.bytes(3), moment);
  }

  private static void deleteIfEqual(Call call) {
    boolean equal = call.entries().has(call.bytes(1), call.bytes(2));
    call.out.integer(equal ? 1 : 0);
    if (equal) {
      call.entries().delete(call.bytes(1));
    }
  }

  private static void getAndSet(Call call) {
    Entries entries = call.entries();
    call.out.bulkOrNull(entries.get(call.bytes(1)));
    entries.put(call.bytes(1), call.bytes(2), Entries.NEVER);
  }

  private static void getAndDelete(Call call) {
    Entries entries = call.entries();
    byte[] value = entries.get(call.bytes(1));
    call.out.bulkOrNull(value);
    if (value != null) {
      entries.delete(call.bytes(1));
    }
  }

  private static void getAndExpire(Call call) {
    ExpiryOption expiry = new ExpiryOption("PERSIST");
    for (int i = 2; i < call.count(); i++) {
      i = expiry.take(call, i);
    }
    Entries entries = call.entries();
    // A command that changes nothing writes nothing, so that EXEC succeeds for clients that watch
    // the key.
    boolean changes =
        expiry.hasTime()
            || (expiry.isWithoutTime()
                && Entries.expiry(entries.info(call.bytes(1))) != Entries.NEVER);
    byte[] value = entries.get(call.bytes(1));
    // As in Redis, the time is checked only if the key exists.
    long moment = value == null ? Entries.NEVER : expiry.moment(call);
    call.out.bulkOrNull(value);
    if (value != null && changes) {
      if (call.hasPassed(moment)) {
        entries.delete(call.bytes(1));
      } else {
        entries.put(call.bytes(1), value, moment);
      }
    }
  }

  private static void getMany(Call call) {
    List<byte[]> keys = Arrays.asList(call.all()).subList(1, call.count());
    if (keys.size() == 1) {
      call.out.array(1);
      get(call);
      return;
    }
    Entries entries = call.entries();
    // Lengths first, so that values too long for a reply are not read. Both reads use one snapshot,
    // so that no longer values can be put in between.
    long bytes = 0;
    for (byte[] key : keys) {
      EntryInfo info = entries.info(key);
      bytes += info == null ? 0 : info.valueLength();
    }
    call.out.checkRoom(bytes);
    try (RequestBudget.Share share = call.server.budget().share()) {
      share.take(bytes);
      List<byte @Nullable []> values = entries.getAll(keys);
      call.out.array(values.size());
      for (byte[] value : values) {
        call.out.bulkOrNull(value);
      }
    }
  }

  private static void requirePairs(Call call) {
    if (call.count() % 2 == 0) {
      throw CommandError.wrongArity(call.name);
    }
  }

  private static void setMany(Call call) {
    requirePairs(call);
    call.out.ok();
    putPairs(call);
  }

  private static void setManyIfAbsent(Call call) {
    requirePairs(call);
    Entries entries = call.entries();
    for (int i = 1; i < call.count(); i += 2) {
      if (entries.contains(call.bytes(i))) {
        call.out.integer(0);
        return;
      }
    }
    call.out.integer(1);
    putPairs(call);
  }

  private static void putPairs(Call call) {
    Entries entries = call.entries();
    for (int i = 1; i < call.count(); i += 2) {
      entries.put(call.bytes(i), call.bytes(i + 1), Entries.NEVER);
    }
  }

  private static void append(Call call) {
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(1));
    byte[] added = call.bytes(2);
    int length = info == null ? 0 : info.valueLength();
    call.checkValueLength((long) length + added.length);
    call.out.integer((long) length + added.length);
    if (info == null) {
      entries.put(call.bytes(1), added, Entries.NEVER);
    } else {
      byte[] value = Arrays.copyOf(entries.getOrEmpty(call.bytes(1)), length + added.length);
      System.arraycopy(added, 0, value, length, added.length);
      entries.put(call.bytes(1), value, Entries.expiry(info));
    }
  }

  private static void length(Call call) {
    EntryInfo info = call.entries().info(call.bytes(1));
    call.out.integer(info == null ? 0 : info.valueLength());
  }

  private static void range(Call call) {
    long start = call.integer(2);
    long end = call.integer(3);
    Boolean found =
        call.entries()
            .read(
                call.bytes(1),
                view -> {
                  Span span = Span.inOrder(start, end, view.remaining());
                  if (span.isEmpty()) {
                    call.out.bulk(NONE);
                  } else {
                    int length = (int) (span.to() - span.from() + 1);
                    call.out.bulk(view.slice((int) span.from(), length));
                  }
                  return true;
                });
    if (found == null) {
      call.out.bulk(NONE);
    }
  }

  private static void setRange(Call call) {
    long offset = call.integer(2);
    byte[] part = call.bytes(3);
    if (offset < 0) {
      throw new CommandError("ERR offset is out of range");
    }
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(1));
    int length = info == null ? 0 : info.valueLength();
    if (part.length == 0) {
      call.out.integer(length);
      return;
    }
    if (offset > Integer.MAX_VALUE) {
      call.checkValueLength(Long.MAX_VALUE);
    }
    call.checkValueLength(offset + part.length);
    int end = (int) offset + part.length;
    call.out.integer(Math.max(length, end));
    byte[] old = info == null ? NONE : entries.getOrEmpty(call.bytes(1));
    byte[] value = Arrays.copyOf(old, Math.max(length, end));
    System.arraycopy(part, 0, value, (int) offset, part.length);
    entries.put(call.bytes(1), value, Entries.expiry(info));
  }
}
