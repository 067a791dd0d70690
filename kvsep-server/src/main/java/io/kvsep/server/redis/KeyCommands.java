package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import io.kvsep.server.redis.Command.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Commands on keys: test, move, copy, delete. */
final class KeyCommands {
  /** Longer values are reported as raw. */
  private static final int EMBEDDED_BYTES_MAX = 44;

  private KeyCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("del", -2, Kind.WRITE, KeyCommands::delete, "Deletes keys").keys(1, -1, 1),
        Command.of("unlink", -2, Kind.WRITE, KeyCommands::delete, "Deletes keys").keys(1, -1, 1),
        Command.of(
                "exists", -2, Kind.READ_TOGETHER, KeyCommands::count, "Counts keys that are there")
            .keys(1, -1, 1)
            .asQuick(),
        Command.of(
                "touch", -2, Kind.READ_TOGETHER, KeyCommands::count, "Counts keys that are there")
            .keys(1, -1, 1)
            .asQuick(),
        Command.of("type", 2, Kind.READ, KeyCommands::type, "Gives the type of a value")
            .keys(1, 1, 1)
            .asQuick(),
        Command.of("rename", 3, Kind.WRITE, KeyCommands::rename, "Renames a key").keys(1, 2, 1),
        Command.of(
                "renamenx",
                3,
                Kind.WRITE,
                KeyCommands::renameIfAbsent,
                "Renames a key to a new one")
            .keys(1, 2, 1),
        Command.of("copy", -3, Kind.WRITE, KeyCommands::copy, "Copies a key").keys(1, 2, 1),
        Command.of("move", 3, Kind.WRITE, KeyCommands::moveAway, "Moves a key to another database")
            .keys(1, 1, 1),
        Command.of("swapdb", 3, Kind.WRITE, KeyCommands::swap, "Exchanges two databases"),
        Command.of("object", -2, Kind.READ, KeyCommands::object, "Tells how a value is kept")
            .keys(2, 2, 1)
            .subcommands(Map.of("ENCODING", 3, "FREQ", 3, "HELP", 2, "IDLETIME", 3, "REFCOUNT", 3)),
        Command.of(
                "flushdb",
                -1,
                Kind.WRITE,
                call -> flush(call, false),
                "Removes all keys of a database")
            .onlyWrites(arguments -> true),
        Command.of("flushall", -1, Kind.WRITE, call -> flush(call, true), "Removes all keys")
            .onlyWrites(arguments -> true));
  }

  private static void delete(Call call) {
    Entries entries = call.entries();
    int deleted = 0;
    for (int i = 1; i < call.count(); i++) {
      if (entries.contains(call.bytes(i))) {
        entries.delete(call.bytes(i));
        deleted++;
      }
    }
    call.out.integer(deleted);
  }

  private static void count(Call call) {
    Entries entries = call.entries();
    int present = 0;
    for (int i = 1; i < call.count(); i++) {
      if (entries.contains(call.bytes(i))) {
        present++;
      }
    }
    call.out.integer(present);
  }

  private static void type(Call call) {
    call.out.simple(call.entries().contains(call.bytes(1)) ? "string" : "none");
  }

  private static void rename(Call call) {
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(1));
    if (info == null) {
      throw noSuchKey();
    }
    call.out.ok();
    move(entries, call, info);
  }

  private static void renameIfAbsent(Call call) {
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(1));
    if (info == null) {
      throw noSuchKey();
    }
    boolean absent = !entries.contains(call.bytes(2));
    call.out.integer(absent ? 1 : 0);
    if (absent) {
      move(entries, call, info);
    }
  }

  private static void move(Entries entries, Call call, EntryInfo info) {
    byte[] value = entries.get(call.bytes(1));
    if (value != null && !Arrays.equals(call.bytes(1), call.bytes(2))) {
      entries.put(call.bytes(2), value, Entries.expiry(info));
      entries.delete(call.bytes(1));
    }
  }

  private static void copy(Call call) {
    int target = call.session.database;
    boolean replaces = false;
    for (int i = 3; i < call.count(); i++) {
      String word = call.word(i);
      if (word.equals("REPLACE")) {
        replaces = true;
      } else if (word.equals("DB") && i + 1 < call.count()) {
        target = database(call.integer(++i));
      } else {
        throw CommandError.syntax();
      }
    }
    if (target == call.session.database && Arrays.equals(call.bytes(1), call.bytes(2))) {
      throw sameObjects();
    }
    Entries from = call.entries();
    Entries to = call.spaces.at(target);
    EntryInfo info = from.info(call.bytes(1));
    byte[] value = info == null ? null : from.get(call.bytes(1));
    boolean copies = value != null && (replaces || !to.contains(call.bytes(2)));
    call.out.integer(copies ? 1 : 0);
    if (copies && value != null) {
      to.put(call.bytes(2), value, Entries.expiry(info));
    }
  }

  private static void moveAway(Call call) {
    int target = database(call.integer(2));
    if (target == call.session.database) {
      throw sameObjects();
    }
    Entries from = call.entries();
    Entries to = call.spaces.at(target);
    byte[] key = call.bytes(1);
    EntryInfo info = from.info(key);
    byte[] value = info == null ? null : from.get(key);
    boolean moves = value != null && !to.contains(key);
    call.out.integer(moves ? 1 : 0);
    if (moves && value != null) {
      to.put(key, value, Entries.expiry(info));
      from.delete(key);
    }
  }

  private record Copied(byte[] key, byte[] value, long expiresAtMillis) {
    /** Approximate heap bytes in addition to key and value. */
    static final int OVERHEAD_BYTES = 120;
  }

  /** Rewrites all entries of both databases, because a keyspace keeps its name. */
  private static void swap(Call call) {
    int first = database(call.integer(1, "ERR invalid first DB index"));
    int second = database(call.integer(2, "ERR invalid second DB index"));
    call.out.ok();
    if (first == second) {
      return;
    }
    call.server.surveys().forget();
    try (RequestBudget.Share share = call.server.budget().share()) {
      List<Copied> ofFirst = all(call, first, share);
      List<Copied> ofSecond = all(call, second, share);
      replace(call.spaces.at(first), ofSecond);
      replace(call.spaces.at(second), ofFirst);
    }
  }

  private static List<Copied> all(Call call, int database, RequestBudget.Share share) {
    List<Copied> entries = new ArrayList<>();
    try (KvCursor cursor = call.spaces.at(database).cursor(ScanOptions.all())) {
      while (cursor.next()) {
        byte[] key = cursor.key();
        share.take((long) Copied.OVERHEAD_BYTES + key.length + cursor.valueLength());
        long end = cursor.expiresAtMillis().orElse(Entries.NEVER);
        entries.add(new Copied(key, cursor.value(), end));
      }
    }
    return entries;
  }

  private static void replace(Entries database, List<Copied> entries) {
    database.clear();
    entries.forEach(entry -> database.put(entry.key, entry.value, entry.expiresAtMillis));
  }

  private static void object(Call call) {
    String word = call.word(1);
    if (word.equals("HELP")) {
      help(call);
      return;
    }
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(2));
    if (info == null) {
      call.out.nothing();
      return;
    }
    switch (word) {
      case "ENCODING" -> call.out.bulk(encoding(info, entries, call.bytes(2)));
      case "REFCOUNT" -> call.out.integer(1);
      case "IDLETIME" -> throw new CommandError("ERR idle time is not tracked");
      default ->
          throw new CommandError(
              "ERR An LFU maxmemory policy is not selected, access frequency not tracked.");
    }
  }

  /** The encoding that Redis has for such a value if nothing was appended to it. */
  private static String encoding(EntryInfo info, Entries entries, byte[] key) {
    if (info.valueLength() > EMBEDDED_BYTES_MAX) {
      return "raw";
    }
    byte[] value = entries.getOrEmpty(key);
    return Numbers.isInteger(value) ? "int" : "embstr";
  }

  private static void help(Call call) {
    ServerCommands.help(
        call,
        "ENCODING <key>",
        "Gives the kind of the value: int, embstr or raw.",
        "FREQ <key>",
        "Is an error: it is not known how often keys were used.",
        "IDLETIME <key>",
        "Is an error: it is not known when keys were used.",
        "REFCOUNT <key>",
        "Gives 1.");
  }

  static int database(long index) {
    if (index < Integer.MIN_VALUE || index > Integer.MAX_VALUE) {
      throw new CommandError(
          "ERR value is out of range, value must between -2147483648 and 2147483647");
    }
    if (index < 0 || index >= Entries.DATABASES) {
      throw new CommandError("ERR DB index is out of range");
    }
    return (int) index;
  }

  private static void flush(Call call, boolean all) {
    boolean known = call.count() == 1;
    if (call.count() == 2) {
      known = call.word(1).equals("ASYNC") || call.word(1).equals("SYNC");
    }
    if (!known) {
      throw CommandError.syntax();
    }
    call.out.ok();
    call.server.surveys().forget();
    if (!all) {
      call.entries().clear();
      return;
    }
    for (int i = 0; i < Entries.DATABASES; i++) {
      if (call.server.databases().exists(i)) {
        call.spaces.at(i).clear();
      }
    }
  }

  private static CommandError sameObjects() {
    return new CommandError("ERR source and destination objects are the same");
  }

  private static CommandError noSuchKey() {
    return new CommandError("ERR no such key");
  }
}
