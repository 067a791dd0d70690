package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** All commands by name, found without making a string of what was sent. Immutable. */
final class CommandTable {
  private static final int SLOTS = 512;

  private final List<Command> commands;
  private final @Nullable Command[] slots = new @Nullable Command[SLOTS];
  private final byte[][] names = new byte[SLOTS][];

  CommandTable() {
    List<Command> all = new ArrayList<>();
    all.addAll(StringCommands.all());
    all.addAll(CounterCommands.all());
    all.addAll(KeyCommands.all());
    all.addAll(ExpiryCommands.all());
    all.addAll(ScanCommands.all());
    all.addAll(TransactionCommands.all());
    all.addAll(SessionCommands.all());
    all.addAll(ServerCommands.all());
    all.sort(Comparator.comparing(Command::name));
    commands = List.copyOf(all);
    for (Command command : commands) {
      byte[] name = command.name().getBytes(US_ASCII);
      int slot = slot(name);
      while (slots[slot] != null) {
        slot = (slot + 1) % SLOTS;
      }
      slots[slot] = command;
      names[slot] = name;
    }
  }

  /** In the order of their names. */
  List<Command> all() {
    return commands;
  }

  /** The command of a name in any case, null when there is none. */
  @Nullable Command find(byte[] name) {
    for (int slot = slot(name); slots[slot] != null; slot = (slot + 1) % SLOTS) {
      if (isSame(names[slot], name)) {
        return slots[slot];
      }
    }
    return null;
  }

  private static int slot(byte[] name) {
    int hash = name.length;
    for (int i = 0; i < Math.min(16, name.length); i++) {
      hash = 31 * hash + (name[i] | 0x20);
    }
    return (hash ^ hash >>> 9) & (SLOTS - 1);
  }

  private static boolean isSame(byte[] lower, byte[] any) {
    if (lower.length != any.length) {
      return false;
    }
    for (int i = 0; i < lower.length; i++) {
      int c = any[i] >= 'A' && any[i] <= 'Z' ? any[i] | 0x20 : any[i];
      if (lower[i] != c) {
        return false;
      }
    }
    return true;
  }
}
