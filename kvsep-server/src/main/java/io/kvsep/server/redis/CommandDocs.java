package io.kvsep.server.redis;

import java.util.HashMap;
import java.util.Map;

/**
 * What COMMAND DOCS reports of a command in addition to its summary. Clients that show help need
 * both: redis-cli compares the group of every command without a check that it exists.
 *
 * @param group of the command in the documentation of Redis or Valkey
 * @param since version of Redis that introduced the command, or of Valkey if Redis lacks it
 */
record CommandDocs(String group, String since) {
  private static final Map<String, CommandDocs> ALL = all();

  static CommandDocs of(String command) {
    CommandDocs docs = ALL.get(command);
    if (docs == null) {
      throw new IllegalArgumentException("the command has no group: " + command);
    }
    return docs;
  }

  private static Map<String, CommandDocs> all() {
    Map<String, CommandDocs> all = new HashMap<>();
    add(
        all,
        "bitmap",
        "2.2.0 getbit setbit",
        "2.6.0 bitcount bitop",
        "2.8.7 bitpos",
        "3.2.0 bitfield",
        "6.0.0 bitfield_ro");
    add(all, "cluster", "3.0.0 cluster readonly readwrite");
    add(
        all,
        "connection",
        "1.0.0 auth echo ping quit select",
        "2.4.0 client",
        "6.0.0 hello",
        "6.2.0 reset");
    add(
        all,
        "generic",
        "1.0.0 del exists expire keys move randomkey rename renamenx ttl type",
        "1.2.0 expireat",
        "2.2.0 persist",
        "2.2.3 object",
        "2.6.0 pexpire pexpireat pttl",
        "2.8.0 scan",
        "3.0.0 wait",
        "3.2.1 touch",
        "4.0.0 unlink",
        "6.2.0 copy",
        "7.0.0 expiretime pexpiretime");
    add(
        all,
        "server",
        "1.0.0 dbsize flushall flushdb info save",
        "2.0.0 config",
        "2.6.0 time",
        "2.8.13 command",
        "4.0.0 swapdb");
    add(
        all,
        "string",
        "1.0.0 decr decrby get getset incr incrby mget set setnx substr",
        "1.0.1 mset msetnx",
        "2.0.0 append setex",
        "2.2.0 setrange strlen",
        "2.4.0 getrange",
        "2.6.0 incrbyfloat psetex",
        "6.2.0 getdel getex",
        "7.0.0 lcs",
        "9.0.0 delifeq");
    add(all, "transactions", "1.2.0 exec multi", "2.0.0 discard", "2.2.0 unwatch watch");
    return Map.copyOf(all);
  }

  private static void add(Map<String, CommandDocs> all, String group, String... releases) {
    for (String release : releases) {
      int end = release.indexOf(' ');
      CommandDocs docs = new CommandDocs(group, release.substring(0, end));
      for (String command : release.substring(end + 1).split(" ", -1)) {
        all.put(command, docs);
      }
    }
  }
}
