package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** All commands by name. Finds them without creating a string of the input. Immutable. */
final class CommandTable {
  private static final int SLOTS = 512;

  private final List<Command> commands;
  private final @Nullable Command[] slots = new @Nullable Command[SLOTS];
  private final byte[][] names = new byte[SLOTS][];

  CommandTable() {
    List<Command> all = new ArrayList<>();
    all.addAll(StringCommands.all());
    all.addAll(BitCommands.all());
    all.addAll(BitFieldCommands.all());
    all.addAll(LcsCommand.all());
    all.addAll(CounterCommands.all());
    all.addAll(KeyCommands.all());
    all.addAll(ExpiryCommands.all());
    all.addAll(ScanCommands.all());
    all.addAll(TransactionCommands.all());
    all.addAll(SessionCommands.all());
    all.addAll(ClientCommands.all());
    all.addAll(ServerCommands.all());
    all.addAll(ClusterCommands.all());
    all.sort(Comparator.comparing(Command::name));
    commands = List.copyOf(all);
    for (Command command : commands) {
      byte[] name = command.name().getBytes(US_ASCII);
      int slot = slot(name, 0, name.length);
      while (slots[slot] != null) {
        slot = (slot + 1) % SLOTS;
      }
      slots[slot] = command;
      names[slot] = name;
    }
  }

  List<Command> all() {
    return commands;
  }

  /** Finds a command by its name in any case; null if there is none. */
  @Nullable Command find(byte[] name) {
    return find(name, 0, name.length);
  }

  /** Finds the command whose name, in any case, is a part of a text; null if there is none. */
  @Nullable Command find(byte[] text, int from, int length) {
    for (int slot = slot(text, from, length); slots[slot] != null; slot = (slot + 1) % SLOTS) {
      if (isSame(names[slot], text, from, length)) {
        return slots[slot];
      }
    }
    return null;
  }

  private static int slot(byte[] text, int from, int length) {
    int hash = length;
    for (int i = from; i < from + Math.min(16, length); i++) {
      hash = 31 * hash + (text[i] | 0x20);
    }
    return (hash ^ hash >>> 9) & (SLOTS - 1);
  }

  private static boolean isSame(byte[] lower, byte[] any, int from, int length) {
    if (lower.length != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      int found = any[from + i];
      int c = found >= 'A' && found <= 'Z' ? found | 0x20 : found;
      if (lower[i] != c) {
        return false;
      }
    }
    return true;
  }
}
