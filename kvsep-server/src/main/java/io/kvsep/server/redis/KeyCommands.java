package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.Command.Kind;
import java.util.Arrays;
import java.util.List;

/** Keys as such: whether they are there, moving, copying and removing them. */
final class KeyCommands {
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
      throw new CommandError("ERR source and destination objects are the same");
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

  /** A database that there is. */
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

  private static CommandError noSuchKey() {
    return new CommandError("ERR no such key");
  }
}
