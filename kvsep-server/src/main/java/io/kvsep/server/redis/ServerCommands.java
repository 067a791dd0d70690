package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.kvsep.server.redis.Command.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Commands about the server: its state, settings and commands. */
final class ServerCommands {
  /** Version of Redis whose documented behaviour is implemented. */
  static final String REDIS_VERSION = "7.2.0";

  private ServerCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("info", -1, Kind.SESSION, ServerCommands::info, "Gives the state of the server"),
        Command.of("config", -2, Kind.SESSION, ServerCommands::config, "Gives settings")
            .subcommands(Map.of("GET", -3, "HELP", 2)),
        Command.of("command", -1, Kind.SESSION, ServerCommands::command, "Describes the commands")
            .subcommands(Map.of("COUNT", 2, "DOCS", -2, "HELP", 2, "INFO", -2, "LIST", 2)),
        Command.of("time", 1, Kind.SESSION, ServerCommands::time, "Gives the time").asQuick(),
        Command.of("save", 1, Kind.LONG_READ, ServerCommands::save, "Syncs the store"));
  }

  /** Replies to HELP of a command with subcommands. Arguments are usages and texts in turns. */
  static void help(Call call, String... usagesAndTexts) {
    String name = call.name.toUpperCase(Locale.ROOT);
    call.out.array(usagesAndTexts.length + 3);
    call.out.simple(name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    for (int i = 0; i < usagesAndTexts.length; i += 2) {
      call.out.simple(usagesAndTexts[i]);
      call.out.simple("    " + usagesAndTexts[i + 1]);
    }
    call.out.simple("HELP");
    call.out.simple("    Prints this help.");
  }

  private static void time(Call call) {
    long now = call.nowMillis();
    call.out.array(2);
    call.out.bulk(Long.toString(now / 1000));
    call.out.bulk(Long.toString(now % 1000 * 1000));
  }

  private static void save(Call call) {
    call.server.store().sync();
    call.out.ok();
  }

  private static void info(Call call) {
    List<String> wanted = new ArrayList<>();
    for (int i = 1; i < call.count(); i++) {
      wanted.add(call.word(i));
    }
    call.out.verbatim(ServerInfo.text(call, wanted));
  }

  private static void config(Call call) {
    if (call.word(1).equals("HELP")) {
      help(call, "GET <pattern> [<pattern> ...]", "Gives settings whose names match a pattern.");
      return;
    }
    RedisLimits limits = call.server.options().limits();
    Map<String, String> settings = new TreeMap<>();
    settings.put("appendonly", "yes");
    settings.put("bind", call.server.options().address().getAddress().getHostAddress());
    settings.put("databases", Integer.toString(Entries.DATABASES));
    settings.put("maxclients", Integer.toString(limits.connections()));
    settings.put("maxmemory", "0");
    settings.put("maxmemory-policy", "noeviction");
    settings.put("port", Integer.toString(call.server.port()));
    settings.put("proto-max-bulk-len", Integer.toString(limits.commandBytes()));
    settings.put("save", "");
    settings.put("timeout", "0");
    Map<String, String> found = new TreeMap<>();
    for (int i = 2; i < call.count(); i++) {
      Glob glob = new Glob(call.text(i).toLowerCase(Locale.ROOT).getBytes(US_ASCII));
      settings.forEach(
          (name, value) -> {
            if (glob.matches(name.getBytes(US_ASCII))) {
              found.put(name, value);
            }
          });
    }
    call.out.map(found.size());
    found.forEach(
        (name, value) -> {
          call.out.bulk(name);
          call.out.bulk(value);
        });
  }

  private static void command(Call call) {
    CommandTable table = call.server.commands();
    String word = call.count() == 1 ? "" : call.word(1);
    switch (word) {
      case "" -> {
        call.out.array(table.all().size());
        table.all().forEach(command -> describe(call.out, command));
      }
      case "COUNT" -> call.out.integer(table.all().size());
      case "LIST" -> {
        call.out.array(table.all().size());
        table.all().forEach(command -> call.out.bulk(command.name()));
      }
      case "INFO" -> commandInfo(call, table);
      case "DOCS" -> commandDocs(call, table);
      case "HELP" ->
          help(
              call,
              "(no subcommand)",
              "Describes all commands.",
              "COUNT",
              "Gives the number of commands.",
              "DOCS [<command-name> ...]",
              "Gives summary, version and group of commands, all by default.",
              "INFO [<command-name> ...]",
              "Describes commands, all by default.",
              "LIST",
              "Gives the names of all commands.");
      default -> throw CommandError.unknownSubcommand(call.name, call.bytes(1));
    }
  }

  private static void commandInfo(Call call, CommandTable table) {
    if (call.count() == 2) {
      call.out.array(table.all().size());
      table.all().forEach(command -> describe(call.out, command));
      return;
    }
    call.out.array(call.count() - 2);
    for (int i = 2; i < call.count(); i++) {
      Command command = table.find(call.bytes(i));
      if (command == null) {
        call.out.nothing();
      } else {
        describe(call.out, command);
      }
    }
  }

  private static void commandDocs(Call call, CommandTable table) {
    List<Command> wanted = new ArrayList<>();
    for (int i = 2; i < call.count(); i++) {
      Command command = table.find(call.bytes(i));
      if (command != null && !wanted.contains(command)) {
        wanted.add(command);
      }
    }
    if (call.count() == 2) {
      wanted.addAll(table.all());
    }
    call.out.map(wanted.size());
    for (Command command : wanted) {
      CommandDocs docs = CommandDocs.of(command.name());
      call.out.bulk(command.name());
      call.out.map(3);
      call.out.pair("summary", command.summary());
      call.out.pair("since", docs.since());
      call.out.pair("group", docs.group());
    }
  }

  /** Name, arity, flags, keys, and four empty lists of what is not supported. */
  private static void describe(Replies out, Command command) {
    out.array(10);
    out.bulk(command.name());
    out.integer(command.arity());
    List<String> flags =
        switch (command.kind()) {
          case WRITE -> List.of("write");
          case READ, READ_TOGETHER, LONG_READ -> List.of("readonly");
          default -> List.of("fast");
        };
    out.set(flags.size());
    flags.forEach(out::simple);
    out.integer(command.firstKey());
    out.integer(command.lastKey());
    out.integer(command.keyStep());
    out.set(0);
    out.array(0);
    out.array(0);
    out.array(0);
  }
}
