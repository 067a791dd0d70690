package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.BitField.Overflow;
import io.kvsep.server.redis.BitField.Verb;
import io.kvsep.server.redis.Command.Kind;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Commands on integers of any number of bits, anywhere in a value. */
final class BitFieldCommands {
  private BitFieldCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("bitfield", -2, Kind.WRITE, BitFieldCommands::run, "Reads and writes bit fields")
            .keys(1, 1, 1),
        Command.of("bitfield_ro", -2, Kind.READ, BitFieldCommands::read, "Reads bit fields")
            .keys(1, 1, 1));
  }

  private static List<BitField> fields(Call call) {
    List<BitField> fields = new ArrayList<>();
    Overflow overflow = Overflow.WRAP;
    int at = 2;
    while (at < call.count()) {
      String word = call.word(at);
      int rest = call.count() - at - 1;
      if (word.equals("OVERFLOW") && rest >= 1) {
        overflow = overflow(call.word(at + 1));
        at += 2;
      } else if (word.equals("GET") && rest >= 2) {
        fields.add(field(call, at, Verb.GET, overflow));
        at += 3;
      } else if ((word.equals("SET") || word.equals("INCRBY")) && rest >= 3) {
        fields.add(field(call, at, Verb.valueOf(word), overflow));
        at += 4;
      } else {
        throw CommandError.syntax();
      }
    }
    return fields;
  }

  private static Overflow overflow(String word) {
    return switch (word) {
      case "WRAP" -> Overflow.WRAP;
      case "SAT" -> Overflow.SAT;
      case "FAIL" -> Overflow.FAIL;
      default -> throw new CommandError("ERR Invalid OVERFLOW type specified");
    };
  }

  private static BitField field(Call call, int at, Verb verb, Overflow overflow) {
    byte[] type = call.bytes(at + 1);
    boolean signed = type.length > 0 && type[0] == 'i';
    long width = Numbers.parse(type, Math.min(1, type.length), type.length, 0);
    boolean known = signed || (type.length > 0 && type[0] == 'u');
    if (!known || width < 1 || width > (signed ? 64 : 63)) {
      throw new CommandError(
          "ERR Invalid bitfield type. Use something like i16 u8."
              + " Note that u64 is not supported but i64 is.");
    }
    byte[] offset = call.bytes(at + 2);
    boolean inFields = offset.length > 0 && offset[0] == '#';
    long first = BitCommands.offset(call, offset, inFields ? 1 : 0, (int) width, inFields);
    long operand = verb == Verb.GET ? 0 : call.integer(at + 3);
    return new BitField(verb, signed, (int) width, first, operand, overflow);
  }

  private static void read(Call call) {
    List<BitField> fields = fields(call);
    if (fields.stream().anyMatch(BitField::writes)) {
      throw new CommandError("ERR BITFIELD_RO only supports the GET subcommand");
    }
    reply(call, fields);
  }

  private static void reply(Call call, List<BitField> fields) {
    call.out.array(fields.size());
    Boolean found = call.entries().read(call.bytes(1), view -> reply(call, fields, view));
    if (found == null) {
      reply(call, fields, ByteBuffer.allocate(0));
    }
  }

  private static boolean reply(Call call, List<BitField> fields, ByteBuffer view) {
    for (BitField field : fields) {
      call.out.integer(field.in(view));
    }
    return true;
  }

  private static void run(Call call) {
    List<BitField> fields = fields(call);
    int end = fields.stream().filter(BitField::writes).mapToInt(BitField::bytes).max().orElse(0);
    if (end == 0) {
      reply(call, fields);
      return;
    }
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(1));
    byte[] old = entries.getOrEmpty(call.bytes(1));
    int length = Math.max(old.length, end);
    call.checkValueLength(length);
    byte[] value = Arrays.copyOf(old, length);
    ByteBuffer view = ByteBuffer.wrap(value);
    call.out.array(fields.size());
    for (BitField field : fields) {
      Long reply = field.apply(view);
      if (reply == null) {
        call.out.nothing();
      } else {
        call.out.integer(reply);
      }
    }
    if (info == null || !Arrays.equals(old, value)) {
      entries.put(call.bytes(1), value, Entries.expiry(info));
    }
  }
}
